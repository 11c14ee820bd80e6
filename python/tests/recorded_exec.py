"""The programs of exec.json: iterators, sources, inputs, and the ways to run a pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bivouac as dali
import bivouac.dynamic as dyn
from bivouac import fn
from bivouac.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator
from recorded import numbers, samples, tree

PROGRAMS: dict[str, Callable[[Any, Path], Any]] = {}


def program(function: Callable[[Any, Path], Any]) -> Callable[[Any, Path], Any]:
    """Register what runs the cases of a section, by the name of the section."""
    PROGRAMS[function.__name__] = function
    return function


def pipeline(outputs: Callable[[], Any], **settings: Any) -> Any:
    """Return a pipeline on one thread, whose outputs a function defines."""
    with dali.Pipeline(num_threads=1, device_id=None, **settings) as pipe:
        made = outputs()
        pipe.set_outputs(*(made if isinstance(made, (list, tuple)) else [made]))
    return pipe


class Numbers(_DaliBaseIterator):
    """An iterator whose batch is the numbers in the first output of each pipeline."""

    def __init__(self, pipes: Any, decode: Callable[[Any], list[int]], **options: Any) -> None:
        self._decode = decode
        super().__init__(pipes, **options)

    def _convert(self, outputs: Any) -> Any:
        return [self._decode(batch[0]) for batch in outputs]


def _of_files(output: Any) -> list[int]:
    return [int(sample.tobytes()) for sample in samples(output)]


def _counters(state: bytes, kept: list[str]) -> str:
    """Return the counters of an iterator in the state of a pipeline, as DALI wrote them."""
    found = re.findall(rb'\{"_counter[^}]*\}', state)
    assert len(found) == 1, state
    counters = json.loads(found[0])
    return json.dumps({key: counters[key] for key in kept}, sort_keys=True)


def _iterate(iterator: Any, resets: bool, states: bool, kept: list[str]) -> dict[str, Any]:
    epochs: list[Any] = []
    texts: list[str] = []
    for _ in range(3):
        epoch: list[Any] = []
        for batch in iterator:
            epoch.append(batch)
            assert len(epoch) < 50
        epochs.append(epoch)
        if states:
            texts.append(_counters(iterator.checkpoints()[0], kept))
        if not resets:
            iterator.reset()
    size = iterator.size
    length = len(iterator) if size >= 0 else 0  # DALI 2.4.0 says 0 for a length it does not know
    out = {"len": length, "size": size, "epochs": epochs}
    return {**out, "iterator_data_after_epoch": texts} if states else out


def _iterated(make: Callable[[bool], Any], case: Any, kept: list[str]) -> dict[str, Any]:
    """Run a case without states, as it was recorded, and with states: the batches are equal."""
    plain = _iterate(make(False), case["auto_reset"], False, kept)
    whole = _iterate(make(True), case["auto_reset"], True, kept)
    assert {key: whole[key] for key in plain} == plain
    return whole


@program
def iterator_policy(case: Any, root: Path) -> Any:
    folder = tree(root / f"files{case['n']}", case["n"])

    def make(states: bool) -> Any:
        pipes = [
            pipeline(
                lambda shard=shard: fn.readers.file(
                    name="r",
                    file_root=folder,
                    shard_id=shard,
                    num_shards=case["shards"],
                    pad_last_batch=case["pad_last_batch"],
                    stick_to_shard=case["stick_to_shard"],
                ),
                batch_size=case["batch"],
                seed=1,
                enable_checkpointing=states,
            )
            for shard in range(case["shards"])
        ]
        return Numbers(
            pipes,
            _of_files,
            reader_name="r",
            last_batch_policy=LastBatchPolicy[case["policy"]],
            auto_reset=case["auto_reset"],
            prepare_first_batch=case["prepare_first_batch"],
        )

    names = ["_counter", "_counter_per_gpu", "_shard_sizes_per_gpu", "_shards_id", "_size"]
    return _iterated(make, case, names)


@program
def iterator_without_reader(case: Any, _: Path) -> Any:
    size, batch = case["size"], case["batch"]

    def source_of(number: int) -> Any:
        def source(i: int) -> Any:
            if size < 0 and i >= 3:
                raise StopIteration
            return [np.int32([1000 * number + i * batch + j]) for j in range(batch)]

        return source

    def make(states: bool) -> Any:
        pipes = [
            pipeline(
                lambda number=number: fn.external_source(
                    source=source_of(number), batch=True, batch_info=False
                ),
                batch_size=batch,
                seed=1,
                enable_checkpointing=states,
            )
            for number in range(case["pipelines"])
        ]
        return Numbers(
            pipes,
            numbers,
            size=size,
            last_batch_policy=LastBatchPolicy[case["policy"]],
            auto_reset=case["auto_reset"],
        )

    return _iterated(make, case, ["_counter", "_size"])


@program
def external_source_cycle(case: Any, _: Path) -> Any:
    items, size = case["items"], case["batch_size"]
    data: list[Any] = [np.int32([i]) for i in range(items)]
    if case["batch"]:
        data = [data[i : i + size] for i in range(0, items, size)]
    pipe = pipeline(
        lambda: fn.external_source(source=data, cycle=case["cycle"], batch=case["batch"]),
        batch_size=size,
    )
    pipe.build()
    trace: list[Any] = []
    for _ in range(items * 2 // size + 3):
        try:
            trace.append(numbers(pipe.run()[0]))
        except StopIteration:
            trace.append("StopIteration")
            pipe.reset()
    return trace


@program
def feed_input(case: Any, _: Path) -> Any:
    pipe = pipeline(
        lambda: fn.external_source(name="in"),
        batch_size=case["batch_size"],
        prefetch_queue_depth=case["prefetch"],
        **case["opts"],
    )
    pipe.build()
    count = pipe.input_feed_count("in")
    for batch in case["batches"]:
        pipe.feed_input("in", [np.int32([i]) for i in batch])
    trace = [numbers(pipe.run()[0]) for _ in case["batches"]]
    return {"input_feed_count": count, "trace": trace}


@program
def run_api(case: Any, _: Path) -> Any:
    pipe = pipeline(
        lambda: fn.external_source(source=lambda i: [np.int32([i])]),
        batch_size=1,
        prefetch_queue_depth=2,
        **case["opts"],
    )
    pipe.build()
    trace: list[Any] = []
    for name in case["sequence"]:
        try:
            value = getattr(pipe, name)()
        except (StopIteration, RuntimeError) as err:
            trace.append([name, type(err).__name__, str(err)])
            continue
        if value is not None and not isinstance(value, bool):
            value = numbers(value[0])
        trace.append([name, value])
    return trace


@program
def executor_statistics(case: Any, _: Path) -> Any:
    pipe = pipeline(
        lambda: fn.random.uniform(shape=[4]),
        batch_size=2,
        enable_memory_stats=True,
        **case["opts"],
    )
    pipe.build()
    pipe.run()
    return {"stats": pipe.executor_statistics(), "shm": pipe.external_source_shm_statistics()}


PROPERTIES = (
    "exec_pipelined",
    "exec_async",
    "exec_dynamic",
    "exec_separated",
    "prefetch_queue_depth",
    "cpu_queue_size",
    "gpu_queue_size",
    "stream_policy",
    "concurrency",
    "seed",
    "py_num_workers",
    "py_start_method",
    "is_restored_from_checkpoint",
    "max_streams",
    "default_cuda_stream_priority",
    "enable_memory_stats",
)


@program
def properties(case: Any, _: Path) -> Any:
    pipe = pipeline(fn.random.uniform, batch_size=2, **case["opts"])
    pipe.build()
    return {name: str(getattr(pipe, name)) for name in PROPERTIES}


@program
def dynamic_eval_modes(case: Any, _: Path) -> Any:
    with getattr(dyn.EvalMode, case["mode"]):
        doubled = dyn.tensor([1, 2, 3]) * 2 + 1
        error: Any = None
        try:
            cut = dyn.slice(
                dyn.tensor(np.zeros((3, 3), np.uint8)), start=[5, 5], shape=[9, 9], axes=[0, 1]
            )
            error = "no error at call"
            cut.evaluate()
        except Exception as err:
            error = [error, err]
        return {
            "value": np.asarray(doubled).tolist(),
            "dtype": str(doubled.dtype),
            "error": error,
        }
