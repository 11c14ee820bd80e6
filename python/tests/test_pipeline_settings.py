"""Settings of pipelines: properties, serialized pipelines with other settings, and GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bivouac import OperatorConcurrency, Pipeline, StreamPolicy, errors, fn, pipeline_def, types
from bivouac._pipeline import message, serialized


def data(**settings: Any) -> bytes:
    @pipeline_def(**{"batch_size": 2, "num_threads": 1, "seed": 3, **settings})
    def graph() -> Any:
        return fn.random.uniform(range=[0, 1]), fn.zeros(shape=[2], dtype=types.UINT8)

    made: bytes = graph().serialize()
    return made


def test_properties() -> None:
    """The values of a pipeline without other settings are those of DALI 2.4.0."""
    found = {
        name: getattr(Pipeline(2, 1), name)
        for name in dir(Pipeline)
        if isinstance(getattr(Pipeline, name), property)
        and name not in ("batch_size", "num_outputs")
    }
    assert found == {
        "max_batch_size": 2,
        "num_threads": 1,
        "device_id": None,
        "seed": None,
        "exec_pipelined": True,
        "exec_async": True,
        "exec_dynamic": True,
        "exec_separated": False,
        "stream_policy": None,
        "concurrency": None,
        "set_affinity": False,
        "max_streams": -1,
        "prefetch_queue_depth": 2,
        "default_cuda_stream_priority": 0,
        "enable_memory_stats": False,
        "py_num_workers": 1,
        "py_start_method": "fork",
        "cpu_queue_size": 2,
        "gpu_queue_size": 2,
        "is_restored_from_checkpoint": False,
    }


def test_arguments_by_position() -> None:
    pipe = Pipeline(2, 3, None, 5, False, {"cpu_size": 3, "gpu_size": 4}, True, 7, True)
    assert (pipe.max_batch_size, pipe.num_threads, pipe.seed) == (2, 3, 5)
    assert not pipe.exec_pipelined
    assert (pipe.cpu_queue_size, pipe.gpu_queue_size, pipe.exec_separated) == (3, 4, True)
    assert pipe.exec_dynamic is None and pipe.set_affinity


@pytest.mark.parametrize(
    ("settings", "kind", "flags"),
    [
        ({}, 11, 4),
        ({"exec_dynamic": False}, 3, 4),
        ({"exec_pipelined": False}, 3, 4),
        ({"exec_async": False}, 1, 4),
        ({"exec_async": False, "exec_pipelined": False}, 0, 4),
        ({"exec_dynamic": True, "exec_async": False}, 11, 4),
        ({"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}}, 7, 4),
        ({"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}, "exec_dynamic": True}, 15, 4),
        ({"stream_policy": StreamPolicy.SINGLE}, 11, 20),
        ({"stream_policy": StreamPolicy.PER_BACKEND}, 11, 36),
        ({"stream_policy": StreamPolicy.PER_OPERATOR, "set_affinity": True}, 11, 53),
        ({"concurrency": OperatorConcurrency.NONE}, 11, 2),
        ({"concurrency": OperatorConcurrency.FULL}, 11, 6),
        ({"concurrency": OperatorConcurrency.UNSPECIFIED}, 11, 4),
    ],
)
def test_executor(settings: dict[str, Any], kind: int, flags: int) -> None:
    """The numbers of executors are those of DALI 2.4.0."""
    found = serialized.read(data(**settings))
    assert (found["executor_type"], found["executor_flags"]) == (kind, flags)


def test_settings_are_read_back() -> None:
    found = serialized.read(data(seed=1 << 40, bytes_per_sample=7))
    assert found == {
        "num_threads": 1,
        "batch_size": 2,
        "device_id": message.CPU_ONLY,
        "seed": 1 << 40,
        "enable_checkpointing": 0,
        "executor_type": 11,
        "executor_flags": 4,
        "cpu_queue_size": 2,
        "gpu_queue_size": 2,
        "bytes_per_sample": 7,
    }
    assert serialized.read(b"") == {
        "num_threads": 4,
        "batch_size": 0,
        "device_id": 0,
        "seed": -1,
        "enable_checkpointing": 0,
        "executor_type": 11,
        "executor_flags": 4,
        "cpu_queue_size": 2,
        "gpu_queue_size": 2,
        "bytes_per_sample": 0,
    }


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"batch_size": 9}, "batch_size", 9),
        ({"num_threads": 9}, "num_threads", 9),
        ({"seed": 9}, "seed", 9),
        ({"seed": -9}, "seed", -1),
        ({"enable_checkpointing": True}, "enable_checkpointing", 1),
        ({"exec_dynamic": False}, "executor_type", 3),
        ({"set_affinity": True}, "executor_flags", 5),
        ({"stream_policy": StreamPolicy.SINGLE}, "executor_flags", 20),
        ({"concurrency": OperatorConcurrency.FULL}, "executor_flags", 6),
        ({"prefetch_queue_depth": 5}, "cpu_queue_size", 5),
        ({"prefetch_queue_depth": {"cpu": 5, "gpu": 6}}, "gpu_queue_size", 6),
        ({"prefetch_queue_depth": {"cpu_size": 5, "gpu_size": 6}}, "executor_type", 15),
        ({"batch_size": None}, "batch_size", 2),
    ],
)
def test_other_settings(changes: dict[str, Any], field: str, value: int) -> None:
    before = data()
    after = serialized.override(before, changes)
    assert after.startswith(before)
    assert serialized.read(after)[field] == value
    assert serialized.outputs(after) == [(-1, -1), (-1, -1)]


def test_damaged_bytes() -> None:
    whole = data()
    for cut in range(len(whole)):
        try:
            serialized.read(whole[:cut])
            serialized.outputs(whole[:cut])
        except errors.Corrupt:
            pass
    for bad in (b"abc", b"\x08", b"\x0b", b"\x08" + b"\xff" * 11, b"\x2a\x05a"):
        with pytest.raises(errors.Corrupt):
            serialized.read(bad)
    with pytest.raises(KeyError, match="batch_size"):
        Pipeline.deserialize(whole, batch_sise=3)
    with pytest.raises(ValueError, match="bytes"):
        Pipeline.deserialize("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="either.*neither"):
        Pipeline.deserialize()
    with pytest.raises(ValueError, match="either.*both"):
        Pipeline.deserialize(whole, "x")
    with pytest.raises(FileNotFoundError):
        Pipeline.deserialize(filename="/nonexistent/pipeline")


@pytest.mark.usefixtures("sidecar")
def test_deserialize(tmp_path: Path) -> None:
    path = tmp_path / "pipeline"
    path.write_bytes(data(output_ndim=[0, None]))
    pipe = Pipeline.deserialize(filename=path)
    assert (pipe.max_batch_size, pipe.num_threads, pipe.seed, pipe.device_id) == (2, 1, 3, None)
    assert pipe.num_outputs == 2 and pipe.output_ndim() == [0, None]
    assert pipe.output_dtype() == [None, None] and pipe.concurrency is OperatorConcurrency.BACKEND
    first = [pipe.run()[0].as_array().tolist() for _ in range(3)]
    other = Pipeline.deserialize(path.read_bytes(), seed=4, batch_size=3, prefetch_queue_depth=1)
    assert (other.max_batch_size, other.seed, other.prefetch_queue_depth) == (3, 4, 1)
    assert len(other.run()[0]) == 3
    own = Pipeline(batch_size=2, seed=3)
    own.deserialize_and_build(path.read_bytes())
    assert [own.run()[0].as_array().tolist() for _ in range(3)] == first


@pytest.mark.usefixtures("sidecar")
def test_a_gpu_runs_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of a GPU is refused. With BIVOUAC_ON_GPU=cpu its batches are those of the CPU."""

    @pipeline_def(batch_size=2, num_threads=1, seed=3)
    def graph(device: str) -> Any:
        x = fn.random.uniform(range=[0, 255], shape=[4, 4, 3], dtype=types.UINT8)
        return fn.flip(x.gpu() if device == "gpu" else x) + 1

    monkeypatch.delenv("BIVOUAC_ON_GPU", raising=False)
    with pytest.raises(RuntimeError, match="BIVOUAC_ON_GPU=cpu"):
        graph("gpu").build()
    with pytest.raises(RuntimeError, match="device_id"):
        graph("cpu", device_id=0).build()
    expected = graph("cpu").run()[0].as_array()
    monkeypatch.setenv("BIVOUAC_ON_GPU", "cpu")
    for pipe in (graph("gpu"), graph("cpu", device_id=0), graph("gpu", device_id=1)):
        assert (pipe.run()[0].as_cpu().as_array() == expected).all()
    monkeypatch.setenv("BIVOUAC_ON_GPU", "tpu")
    with pytest.raises(ValueError, match="BIVOUAC_ON_GPU.*'tpu'"):
        graph("cpu").build()


def test_threads_are_needed_to_build() -> None:
    for threads in (None, 0, -1):
        pipe = pipeline_def(lambda: fn.zeros(shape=[1]))(batch_size=1, num_threads=threads)
        written = serialized.read(pipe.serialize())["num_threads"]
        assert written == (-1 if threads is None else threads)
        with pytest.raises(ValueError, match="num_threads"):
            pipe.build()
