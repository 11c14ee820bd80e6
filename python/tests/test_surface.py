"""What the functions and classes do beyond what the same programs of both packages show."""

from __future__ import annotations

import asyncio
import datetime
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ocp
from bivouac import errors


@pytest.mark.usefixtures("sidecar")
def test_metadata(tmp_path: Path) -> None:
    before = datetime.datetime.now(tz=datetime.timezone.utc)
    ocp.save(tmp_path / "a", {"w": np.zeros((2, 3), np.float32), "n": [1, 2.5, True, "s"]})
    found = ocp.metadata(tmp_path / "a")
    assert found.path == tmp_path / "a"
    assert found.init_timestamp_nsecs is not None and found.commit_timestamp is not None
    assert found.init_timestamp is not None
    assert before <= found.init_timestamp <= found.commit_timestamp
    assert found.commit_timestamp.timestamp() * 1e9 == pytest.approx(found.commit_timestamp_nsecs)
    assert found.custom_metadata == {}
    w = found.metadata["w"]
    assert isinstance(w, ocp.arrays.ArrayMetadata) and isinstance(w, ocp.arrays.AbstractArray)
    assert w.shape == (2, 3) and w.dtype == np.dtype("float32") and (w.ndim, w.size) == (2, 6)
    assert w.storage_metadata is not None and w.storage_metadata.chunk_shape == (2, 3)
    assert found.metadata["n"] == [0, 0.0, False, "string"]
    with pytest.raises(ValueError):
        ocp.metadata(tmp_path / "a", checkpointable_name="other")


def test_descriptions() -> None:
    a = ocp.arrays
    struct = a.ShapeDtypeStruct([2, np.int64(3)], "float32")  # type: ignore[arg-type]
    assert struct.shape == (2, 3) and struct.dtype == np.float32 and struct.size == 6
    assert struct == a.ShapeDtypeStruct((2, 3), np.dtype("float32")) and hash(struct)
    described = a.to_shape_dtype_struct(np.zeros((2, 3), np.int8), dtype=np.float32)
    assert (described.shape, described.dtype) == ((2, 3), np.float32)
    assert a.to_shape_dtype_struct(3, scalar_dtype=float) == 3.0
    assert a.to_shape_dtype_struct(True) is True
    with pytest.raises(ValueError):
        a.to_shape_dtype_struct("text")
    assert isinstance(np.zeros(2), a.AbstractArray)
    for name in ("AbstractScalar", "ArrayLike", "DType", "Scalar", "Shape"):
        assert getattr(a, name) is not None
    for name in ("AbstractLeaf", "JsonType", "Leaf", "PyTreeKey", "PyTreeKeyPath"):
        assert getattr(ocp.tree, name) is not None
    assert str(ocp.tree.PyTreeOf[int]).endswith("PyTreeOf[int]")
    with pytest.raises(TypeError):
        a.as_dtype("no such type")


def test_errors() -> None:
    e = ocp.errors
    assert issubclass(e.InvalidLayoutError, ValueError)
    assert issubclass(e.DeletionInProgressError, RuntimeError)
    assert issubclass(e.DeletionRecoveryError, RuntimeError)
    assert issubclass(e.NoEntryError, KeyError) and issubclass(e.AlreadyExistsError, ValueError)
    text = str(e.NoEntryError(op="load", subject="item 'x'", want="a handler"))
    assert text == "load: item 'x': unsupported: want a handler"
    for kind in (e.InvalidLayoutError, e.NoEntryError, ocp.training.errors.StepNotFoundError):
        assert issubclass(kind, errors.BivouacError)


@pytest.mark.usefixtures("sidecar")
def test_responses(tmp_path: Path) -> None:
    response = ocp.save_async(tmp_path / "a", {"w": np.zeros(1 << 16)})
    assert isinstance(response, ocp.AsyncResponse)
    assert response.result(timeout=60) is None and response.result() is None
    called: list[Any] = []
    done = threading.Event()

    def hear(value: Any) -> None:
        called.append(value)
        done.set()

    response.on_complete(hear)
    assert done.wait(10) and called == [None]
    for failing in (
        ocp.load_async(tmp_path / "none"),
        ocp.delete_async(tmp_path / "none"),
    ):
        failing.on_complete(lambda value: called.append("wrong"))
        with pytest.raises(FileNotFoundError):
            failing.result()
    assert called == [None]
    deleted = ocp.delete_async(tmp_path / "a")
    assert deleted.result() is True


@pytest.mark.usefixtures("sidecar")
def test_loads_in_the_background(tmp_path: Path) -> None:
    ocp.save_checkpointables(tmp_path / "a", {"state": {"w": np.arange(3)}, "x": {"v": 1}})
    response = ocp.load_async(tmp_path / "a", {"w": np.zeros(3, np.float64)})
    assert response.result()["w"].dtype == np.float64
    seen: list[Any] = []
    response.on_complete(seen.append)
    assert seen and seen[0]["w"].tolist() == [0, 1, 2]
    assert ocp.load_checkpointables_async(tmp_path / "a", {"x": None}).result() == {"x": {"v": 1}}
    with ocp.training.Checkpointer(tmp_path / "run") as run:
        run.save(1, {"v": 2})
        assert run.load_async().result() == {"v": 2}
        assert run.load_checkpointables_async(1).result() == {"state": {"v": 2}}
    with pytest.raises(ValueError):
        ocp.load_async(tmp_path / "a", {"zz": 1}).result()


@pytest.mark.usefixtures("sidecar")
def test_a_caller_may_change_what_is_saved(tmp_path: Path) -> None:
    array = np.arange(1 << 18, dtype=np.int32)
    responses = []
    for i in range(4):
        array[:] = i
        responses.append(ocp.save_async(tmp_path / str(i), {"a": array}))
    array[:] = -1
    for i, response in enumerate(responses):
        response.result()
        assert (ocp.load(tmp_path / str(i))["a"] == i).all()


@pytest.mark.usefixtures("sidecar")
def test_load_in_place(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"w": np.arange(6.0).reshape(2, 3), "n": 5})
    target = {"w": np.zeros((2, 3)), "n": 0}
    w = target["w"]
    loaded = ocp.load(tmp_path / "a", into=target)
    assert loaded["w"] is w and w[1, 2] == 5.0 and loaded["n"] == 5
    with pytest.raises(ValueError):
        ocp.load(tmp_path / "a", {"w": None, "n": None}, into=target)
    with ocp.training.Checkpointer(tmp_path / "run") as run:
        run.save(1, {"w": np.full((2, 3), 7.0)})
        run.load(1, into={"w": w})
    assert (w == 7).all()


@pytest.mark.usefixtures("sidecar")
def test_lossy_casts_are_asked_for(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"i": np.array([300], np.int32), "f": 1.5})
    wanted = {"i": np.zeros(1, np.int8), "f": int}
    with pytest.raises(ValueError):
        ocp.load(tmp_path / "a", wanted)
    report: list[Any] = []
    loaded = ocp.load(tmp_path / "a", wanted, lossy_cast=True, report=report)
    assert loaded["f"] == 1 and loaded["i"].dtype == np.int8
    assert any(entry["path"] == "i" and entry["cast"] for entry in report)


@pytest.mark.usefixtures("sidecar")
def test_shapes_are_checked(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"w": np.arange(4)})
    with pytest.raises(ValueError, match="w"):
        ocp.load(tmp_path / "a", {"w": np.zeros(3, np.int64)})
    context = ocp.Context()
    context.array.loading.enable_padding_and_truncation = True
    with context:
        assert ocp.load(tmp_path / "a", {"w": np.zeros(3, np.int64)})["w"].tolist() == [0, 1, 2]


@pytest.mark.usefixtures("sidecar")
def test_partial_updates(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"x": 1})
    ocp.save(tmp_path / "a", {"y": np.ones(2)}, partial_update=True)
    assert sorted(ocp.load(tmp_path / "a")) == ["x", "y"]
    with pytest.raises(ValueError):
        ocp.save(tmp_path / "a", {"x": 2}, partial_update=True)
    ocp.save(tmp_path / "a", {"x": 2}, partial_update=True, overwrite=True)
    assert ocp.load(tmp_path / "a")["x"] == 2
    ocp.save_checkpointables(tmp_path / "a", {"other": {"z": 3}}, partial_update=True)
    assert ocp.load_checkpointables(tmp_path / "a")["other"] == {"z": 3}


@pytest.mark.usefixtures("sidecar")
def test_salvage(tmp_path: Path) -> None:
    context = ocp.Context()
    context.bivouac.layout = "zarr3"
    with context:
        ocp.save(tmp_path / "a", {"w": np.arange(4096.0), "v": np.arange(4096.0) + 1})
    chunk = max((tmp_path / "a" / "state" / "w").rglob("*"), key=lambda p: p.stat().st_size)
    data = bytearray(chunk.read_bytes())
    data[100] ^= 1
    chunk.write_bytes(data)
    with pytest.raises(ValueError):
        ocp.load(tmp_path / "a")
    report: list[Any] = []
    loaded = ocp.load(tmp_path / "a", salvage=True, report=report)
    assert loaded["w"] is ocp.PLACEHOLDER and loaded["v"][0] == 1
    assert [entry["path"] for entry in report if entry.get("lost")] == ["w"]


@pytest.mark.usefixtures("sidecar")
def test_verify(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"w": np.arange(1 << 14)})
    verdict = ocp.verify(tmp_path / "a", progress=lambda done, total: None)
    assert verdict.sound and verdict.verdict == "sound"
    largest = max((tmp_path / "a").rglob("*"), key=lambda p: p.stat().st_size * p.is_file())
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    damaged = ocp.verify(tmp_path / "a")
    assert not damaged.sound and largest.name in damaged.text
    with pytest.raises(ocp.errors.InvalidLayoutError):
        ocp.verify(tmp_path)


@pytest.mark.usefixtures("sidecar")
def test_load_and_transform(tmp_path: Path) -> None:
    ocp.save(tmp_path / "a", {"old": {"w": np.arange(3), "l": [1, 2.5]}, "drop": np.zeros(9)})
    ocp.save(tmp_path / "b", {"head": np.ones(2), "name": "b"})

    def rename(a: Any, b: Any) -> Any:
        assert a["drop"].description.shape == (9,)
        return {"new": {**a["old"], "step": 7}, "head": (b["head"], b["name"])}

    loaded = ocp.load_and_transform([tmp_path / "a", tmp_path / "b"], rename)
    assert loaded["new"]["w"].tolist() == [0, 1, 2] and loaded["new"]["l"] == [1, 2.5]
    assert loaded["new"]["step"] == 7 and list(loaded["head"])[1] == "b"
    wanted = {"x": np.zeros(3, np.float32)}
    one = ocp.load_and_transform(tmp_path / "a", lambda a: {"x": a["old"]["w"]}, wanted)
    assert one["x"].dtype == np.float32
    with pytest.raises(TypeError):
        ocp.load_and_transform(tmp_path / "a", lambda a: {"x": object()})
    with pytest.raises(ocp.errors.InvalidLayoutError):
        ocp.load_and_transform(tmp_path / "none", lambda a: a)


@pytest.mark.usefixtures("sidecar")
def test_progress(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    array = np.random.default_rng(0).integers(0, 255, 1 << 24, np.uint8)
    ocp.save(tmp_path / "a", {"w": array}, progress=lambda done, total: seen.append((done, total)))
    assert all(0 <= done <= total for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.usefixtures("sidecar")
def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ocp.save("a", {"x": 1})
    assert ocp.load("a") == {"x": 1} and (tmp_path / "a").is_dir()
    assert ocp.is_orbax_checkpoint("a") and not ocp.is_orbax_checkpoint("b")


class Value:
    """A value of the handler below."""

    def __init__(self, text: str) -> None:
        self.text = text


class ValueHandler:
    """A handler whose files are private until the commit."""

    made: list[Path] = []

    async def save(self, directory: Any, checkpointable: Value) -> Any:
        text = checkpointable.text
        await asyncio.sleep(0)

        async def write() -> None:
            there = await (directory / "deep").await_creation()
            self.made.append(directory.path)
            (there / "text").write_text(text)
            if text == "fail":
                raise OSError("no more room")

        return write()

    async def load(self, directory: Path, abstract_checkpointable: Any = None) -> Any:
        async def read() -> Value:
            self.made.append(directory)
            return Value((directory / "deep" / "text").read_text())

        return read()

    async def metadata(self, directory: Path) -> Any:
        self.made.append(directory)
        return len((directory / "deep" / "text").read_text())

    def is_handleable(self, checkpointable: Any) -> bool:
        return isinstance(checkpointable, Value)

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool | None:
        return isinstance(abstract_checkpointable, Value)


def registered() -> Any:
    registry = ocp.handlers.local_registry()
    registry.add(ValueHandler)
    options = ocp.options.CheckpointablesOptions(registry=registry)
    return ocp.Context(checkpointables_options=options)


@pytest.mark.usefixtures("sidecar")
def test_handlers_leave_nothing(tmp_path: Path) -> None:
    ValueHandler.made = []
    with registered():
        items = {"one": Value("a"), "two": Value("b"), "state": {"x": 1}}
        ocp.save_checkpointables(tmp_path / "a", items)
        assert sorted(ocp.load_checkpointables(tmp_path / "a")) == ["one", "state", "two"]
        assert ocp.checkpointables_metadata(tmp_path / "a").metadata["one"] == 1
        with pytest.raises(OSError, match="no more room"):
            ocp.save_checkpointables(tmp_path / "b", {"one": Value("a"), "x": Value("fail")})
        with pytest.raises(ValueError):
            ocp.save_checkpointables(tmp_path / "a", {"one": Value("a")})
    assert len(ValueHandler.made) >= 6
    assert [p for p in ValueHandler.made if p.exists()] == []
    assert sorted(os.listdir(tmp_path)) == ["a"]
    with pytest.raises(KeyError):
        ocp.load_checkpointables(tmp_path / "a")
    assert ocp.load_checkpointables(tmp_path / "a", {"state": None}) == {"state": {"x": 1}}


@pytest.mark.usefixtures("sidecar")
def test_handlers_of_runs(tmp_path: Path) -> None:
    with registered(), ocp.training.Checkpointer(tmp_path / "run") as run:
        assert run.save_checkpointables(1, {"v": Value("q"), "state": {"x": 1}})
        loaded = run.load_checkpointables(1)
        assert loaded["v"].text == "q" and loaded["state"] == {"x": 1}
        assert run.checkpointables_metadata(1).metadata["v"] == 1
        assert run.load_checkpointables(abstract_checkpointables={"v": Value("")})["v"].text == "q"


@pytest.mark.usefixtures("sidecar")
def test_handlers_in_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> str:
        with registered():
            ocp.save_checkpointables(tmp_path / "a", {"v": Value("in a loop")})
            loaded = ocp.load_checkpointables(tmp_path / "a")
        text: str = loaded["v"].text
        return text

    assert asyncio.run(notebook()) == "in a loop"


@pytest.mark.usefixtures("sidecar")
def test_builtin_handlers(tmp_path: Path) -> None:
    """A handler of the user can be made of the built-in ones."""

    class Pair:
        pass

    class PairHandler:
        async def save(self, directory: Any, checkpointable: Any) -> Any:
            tree = await ocp.handlers.PyTreeHandler().save(directory / "tree", {"w": np.ones(2)})
            text = await ocp.handlers.JsonHandler("my.json").save(directory, {"k": 1})

            async def both() -> None:
                await tree
                await text

            return both()

        async def load(self, directory: Path, abstract_checkpointable: Any = None) -> Any:
            async def read() -> Any:
                tree = await (await ocp.handlers.PyTreeHandler().load(directory / "tree"))
                text = await (await ocp.handlers.JsonHandler("my.json").load(directory))
                return tree["w"].tolist(), text

            return read()

        async def metadata(self, directory: Path) -> Any:
            return await ocp.handlers.PyTreeHandler().metadata(directory / "tree")

        def is_handleable(self, checkpointable: Any) -> bool:
            return isinstance(checkpointable, Pair)

        def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool | None:
            return None

    registry = ocp.handlers.local_registry()
    registry.add(PairHandler)
    options = ocp.options.CheckpointablesOptions(registry=registry)
    with ocp.Context(checkpointables_options=options):
        ocp.save_checkpointables(tmp_path / "a", {"p": Pair()})
        assert ocp.load_checkpointables(tmp_path / "a") == {"p": ([1.0, 1.0], {"k": 1})}
        assert ocp.checkpointables_metadata(tmp_path / "a").metadata["p"]["w"].shape == (2,)
    handler = ocp.handlers.PyTreeHandler()
    assert handler.is_handleable({"a": [1, None]}) and not handler.is_handleable({"a": object()})
    assert handler.is_abstract_handleable({"a": np.ndarray, "b": int, "c": ocp.PLACEHOLDER})
    with pytest.raises(ValueError):
        handler.validate_leaves_handleable({"a": object()})
    with pytest.raises(ValueError):
        handler.validate_abstract_leaves_handleable({"a": object()})
    with pytest.raises(ValueError):
        ocp.handlers.PyTreeHandler(partial_save_mode=True)
    assert ocp.handlers.JsonHandler().is_handleable([1]) is True
    assert ocp.handlers.JsonHandler().is_abstract_handleable([1]) is None
    for kind in (ocp.handlers.JsonHandler, ocp.handlers.ProtoHandler, ocp.handlers.PyTreeHandler):
        assert isinstance(kind(), ocp.handlers.CheckpointableHandler)


@pytest.mark.usefixtures("sidecar")
def test_messages(tmp_path: Path) -> None:
    duration = pytest.importorskip("google.protobuf.duration_pb2")
    value = duration.Duration(seconds=5, nanos=7)
    ocp.save_checkpointables(tmp_path / "a", {"d": value, "state": {"x": 1}})
    assert (tmp_path / "a" / "d" / "proto.pbtxt").exists()
    loaded = ocp.load_checkpointables(tmp_path / "a", {"d": duration.Duration})
    assert loaded == {"d": value}
    with pytest.raises(ValueError):
        ocp.load_checkpointables(tmp_path / "a")
    handler = ocp.handlers.ProtoHandler()
    assert handler.is_handleable(value) and handler.is_abstract_handleable(duration.Duration)
    with pytest.raises(NotImplementedError):
        asyncio.run(handler.metadata(tmp_path))


def test_multihost() -> None:
    m = ocp.multihost
    assert m.process_count() == 1 and m.process_index() == 0
    assert m.is_primary_host(0) and m.is_primary_host(None) and not m.is_primary_host(1)
    assert m.is_pathways_backend() is False
    asyncio.run(m.sync_global_processes("key", operation_id="1"))


@pytest.mark.usefixtures("sidecar")
def test_a_base_is_linked(tmp_path: Path) -> None:
    state = {"w": np.random.default_rng(0).random(1 << 18)}
    ocp.save(tmp_path / "a", state, base=tmp_path / "a")
    ocp.save(tmp_path / "b", state, base=tmp_path / "a")
    linked = [p for p in (tmp_path / "b").rglob("*") if p.is_file() and p.stat().st_nlink > 1]
    assert sum(p.stat().st_size for p in linked) >= state["w"].nbytes
    assert ocp.delete(tmp_path / "a")
    assert np.array_equal(ocp.load(tmp_path / "b")["w"], state["w"])


@pytest.mark.usefixtures("sidecar")
def test_runs_load_steps_of_every_format(tmp_path: Path) -> None:
    names = ocp.path.step
    old, new = names.standard_name_format(step_prefix="step"), names.standard_name_format()
    with ocp.training.Checkpointer(tmp_path / "run", step_name_format=old) as run:
        run.save(3, {"x": 3})
    both = names.composite_name_format(new, [new, old])
    with ocp.training.Checkpointer(tmp_path / "run", step_name_format=both) as run:
        run.save(4, {"x": 4})
        assert [c.path.name for c in run.checkpoints] == ["step_3", "4"]
        assert run.load(3) == {"x": 3} and run.load() == {"x": 4}
        assert run.metadata(3).path.name == "step_3"

    class Own:
        def build_name(self, step: int) -> str:
            return str(step)

        def find_all(self, base_path: Any) -> Any: ...

        def find_step(self, base_path: Any, step: int) -> Any: ...

    with pytest.raises(NotImplementedError):
        ocp.training.Checkpointer(tmp_path / "other", step_name_format=Own())


@pytest.mark.usefixtures("sidecar")
def test_runs_have_one_writer(tmp_path: Path) -> None:
    with ocp.training.Checkpointer(tmp_path / "run") as run:
        run.save(1, {"x": 1})
        with pytest.raises(RuntimeError):
            with ocp.training.Checkpointer(tmp_path / "run") as other:
                other.save(2, {"x": 1})
    with pytest.raises(RuntimeError):
        run.save(3, {"x": 1})
    run.close()


@pytest.mark.usefixtures("sidecar")
def test_a_run_that_was_not_closed_can_be_opened_again(tmp_path: Path) -> None:
    for step in range(3):
        run = ocp.training.Checkpointer(tmp_path / "run")
        response = run.save_async(step, {"x": step})
        assert response is not None
        if step == 1:
            response.result()
        del run, response
    with ocp.training.Checkpointer(tmp_path / "run") as run:
        assert [c.step for c in run.checkpoints] == [0, 1, 2]


@pytest.mark.usefixtures("sidecar")
def test_errors_are_of_one_class_without_a_chain(tmp_path: Path) -> None:
    with pytest.raises(ocp.errors.InvalidLayoutError) as caught:
        ocp.load(tmp_path / "none")
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert caught.value.kind == "not found" and str(tmp_path) in str(caught.value)


@pytest.mark.usefixtures("sidecar")
def test_the_last_step_is_deleted_only_if_asked(tmp_path: Path) -> None:
    with ocp.training.Checkpointer(tmp_path / "run") as run:
        run.save(1, {"x": 1})
        with pytest.raises(ValueError):
            run.delete(1)
        assert run.delete(1, last=True) and run.latest is None


@pytest.mark.usefixtures("sidecar")
def test_policies_are_told_of_a_preemption(tmp_path: Path) -> None:
    decide = ocp.training.save_decision_policies
    stop = threading.Event()
    policy = decide.PreemptionCheckpointingPolicy()
    with ocp.training.Checkpointer(
        tmp_path / "run", save_decision_policy=policy, preempted=stop.is_set
    ) as run:
        assert not run.save(1, {"x": 1}) and run.save_async(2, {"x": 1}) is None
        stop.set()
        assert run.save(3, {"x": 1})


@pytest.mark.usefixtures("sidecar")
def test_a_failing_policy_deletes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def should_preserve(self, checkpoints: Any, *, context: Any) -> Any:
            raise LookupError("broken")

    class Short:
        def should_preserve(self, checkpoints: Any, *, context: Any) -> Any:
            return []

    for name, policy in (("a", Broken()), ("b", Short())):
        with ocp.training.Checkpointer(tmp_path / name, preservation_policy=policy) as run:
            for step in range(3):
                run.save(step, {"x": step}, force=True)
            assert [c.step for c in run.checkpoints] == [0, 1, 2]
    assert "broken" in capsys.readouterr().err


@pytest.mark.usefixtures("sidecar")
def test_events_of_a_run(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    told = threading.Event()

    def hear(event: dict[str, Any]) -> None:
        seen.append(event)
        if event["event"] == "declined":
            told.set()

    decide = ocp.training.save_decision_policies
    with ocp.training.Checkpointer(
        tmp_path / "run", save_decision_policy=decide.FixedIntervalPolicy(2), on_event=hear
    ) as run:
        assert not run.save(1, {"x": 1})
        assert told.wait(10)
    assert any(e["event"] == "declined" and e["step"] == 1 and e["text"] for e in seen)


@pytest.mark.usefixtures("sidecar")
def test_partial_sessions(tmp_path: Path) -> None:
    path = tmp_path / "p"
    ocp.partial.save(path, {"a": 1, "b": 2})
    with pytest.raises(FileExistsError):
        ocp.partial.save(path, {"a": 2})
    ocp.partial.save(path, {"a": 2}, replace=True)
    ocp.partial.save_checkpointables(path, {"other": {"v": 3}})
    ocp.partial.finalize(path)
    assert ocp.load_checkpointables(path) == {"state": {"a": 2, "b": 2}, "other": {"v": 3}}
    ocp.partial.save(tmp_path / "q", {"a": 1})
    ocp.partial.abort(tmp_path / "q")
    with pytest.raises(FileNotFoundError):
        ocp.partial.finalize(tmp_path / "q")
    with pytest.raises(FileNotFoundError):
        ocp.partial.abort(tmp_path / "q")


@pytest.mark.usefixtures("sidecar")
def test_runs_survive_a_new_server(tmp_path: Path) -> None:
    """A Checkpointer opens its run again if the server has ended."""
    from bivouac import _client

    keep = ocp.training.preservation_policies
    policy = keep.BestN(get_metric_fn=lambda m: m["l"], n=1)
    with ocp.training.Checkpointer(tmp_path / "run", preservation_policy=policy) as run:
        run.save(1, {"x": 1}, metrics={"l": 2.0})
        _client._close()
        assert run.load() == {"x": 1}
        run.save(2, {"x": 2}, metrics={"l": 1.0}, force=True)
        run.save(3, {"x": 3}, metrics={"l": 0.0}, force=True)
        assert [c.step for c in run.checkpoints] == [1, 3]


def test_the_package_is_light() -> None:
    """The surface imports neither JAX nor Torch."""
    import subprocess

    code = (
        "import sys, bivouac.checkpoint as ocp; ocp.training, ocp.options, ocp.Context();"
        "print(sorted({'jax', 'torch', 'orbax', 'google'} & set(sys.modules)))"
    )
    source = str(Path(__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": source}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.strip() == "[]", out.stderr
