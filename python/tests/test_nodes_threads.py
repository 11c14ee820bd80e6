"""Threads of bivouac.torch.nodes: errors, interrupts, and what is left of them."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import node_data as data
import pytest
from conftest import eventually
from node_helpers import Own, numbers, own_threads, program

from bivouac import errors
from bivouac.torch.nodes import (
    BaseNode,
    Batcher,
    IterableWrapper,
    Loader,
    Mapper,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
    Unbatcher,
)


def test_exceptions_of_functions_have_the_traceback() -> None:
    node = ParallelMapper(numbers(6), data.fail3, 2)
    assert [next(node) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(data.Boom) as caught:
        next(node)
    text = str(caught.value)
    assert text.startswith("Caught Boom in _apply_udf.\nOriginal Traceback (most recent call last)")
    assert "node_data.py" in text and text.rstrip().endswith("Boom: failing at 3")
    cause = caught.value.__cause__
    assert isinstance(cause, data.Boom) and str(cause) == "failing at 3"
    assert cause.__traceback__ is not None and cause.__traceback__.tb_next is not None
    # The state is the one before the item. The other items come.
    assert node.state_dict()["it_state"]["snapshot"] == {"_num_yielded": 3}
    assert list(node) == [4, 5]
    nested = Prefetcher(Prefetcher(ParallelMapper(numbers(6), data.fail3, 2), 2), 2)
    assert [next(nested) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(data.Boom) as caught:
        next(nested)
    assert str(caught.value).count("failing at 3") < 6
    assert list(nested) == []
    with pytest.raises(KeyError, match="^Caught KeyError in _apply_udf.\nOriginal Traceback"):
        next(ParallelMapper(numbers(2), data.fail_key, 1))
    with pytest.raises(RuntimeError, match="^Caught Odd in _apply_udf"):
        next(ParallelMapper(numbers(2), data.fail_oddly, 1))
    with pytest.raises(SystemExit, match="leaving"):
        list(ParallelMapper(numbers(2), data.leave, 1))


def test_an_item_that_fails_is_not_forgotten() -> None:
    """Items before and behind it come once, also with a snapshot that is old."""

    def make() -> Loader[int]:
        return Loader(ParallelMapper(numbers(9), data.fail3, 2, snapshot_frequency=5))

    for most in (3, 4, 6):
        loader = make()
        iterator, got, failed = iter(loader), [], 0
        while len(got) < most:
            try:
                got.append(next(iterator))
            except data.Boom:
                failed += 1
        state = loader.state_dict()
        loader = make()
        loader.load_state_dict(state)
        if most == 3:
            with pytest.raises(data.Boom):
                iter(loader)
            continue
        assert failed == 1 and got + list(loader) == [0, 1, 2, 4, 5, 6, 7, 8]


def test_a_source_that_fails_ends_the_epoch() -> None:
    for make in (
        lambda source: Prefetcher(source, 3),
        lambda source: ParallelMapper(source, data.double, 2),
        lambda source: ParallelMapper(source, data.double, 2, in_order=False),
    ):
        node: BaseNode[int] = make(Mapper(numbers(6), data.fail3))
        got = []
        with pytest.raises(data.Boom, match="^Caught Boom in _populate_queue"):
            for value in node:
                got.append(value)
        assert len(got) <= 3 and sum(1 for _ in node) + len(got) == 3
        assert list(node) == []
        node.reset()
        assert next(node) == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_that_is_interrupted_is_finished(workers: int) -> None:
    """In torchdata, the items before the one that failed are lost."""

    def make() -> Loader[list[int]]:
        source = ParallelMapper(numbers(9), data.fail3, workers)
        return Loader(Batcher(source, 2, drop_last=False))

    loader = make()
    iterator, got = iter(loader), []
    got.append(next(iterator))
    with pytest.raises(data.Boom):
        next(iterator)
    if workers:  # the state has the item that is in hand
        expected = {"snapshot": {"_num_yielded": 2}, "steps_since_snapshot": 0}
        assert loader.state_dict()["root"]["source"]["it_state"] == expected
    assert got + list(iterator) == [[0, 1], [2, 4], [5, 6], [7, 8]]
    assert next(iter(loader)) == [0, 1]


@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_of_a_source_that_ends_after_an_error(drop_last: bool) -> None:
    node = Batcher(Prefetcher(Mapper(numbers(9), data.fail3), 2), 2, drop_last)
    assert next(node) == [0, 1]
    with pytest.raises(data.Boom):
        next(node)
    assert list(node) == ([] if drop_last else [[2]])


def test_the_state_of_an_unbatcher_after_an_error() -> None:
    """In torchdata, a resume leaves items of the next list out."""

    class Once:
        failed = False

        def __call__(self, x: list[int]) -> list[int]:
            if x[0] == 4 and not Once.failed:
                Once.failed = True
                raise data.Boom("once")
            return x

    def make() -> Loader[int]:
        batches = Batcher(numbers(9), 2, drop_last=False)
        return Loader(Unbatcher(ParallelMapper(batches, Once(), 2)))

    loader = make()
    iterator = iter(loader)
    got = list(itertools.islice(iterator, 4))
    with pytest.raises(data.Boom):
        next(iterator)
    resumed = make()
    resumed.load_state_dict(loader.state_dict())
    assert got + list(resumed) == list(range(9))


def test_an_interrupted_draw_is_drawn_again() -> None:
    class Interrupts(Own):
        interrupted = False

        def next(self) -> int:
            if self.i == 3 and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            return super().next()

    def make(node: type[Own]) -> BaseNode[int]:
        sources = {"a": node(6), "b": IterableWrapper(range(10, 16))}
        return MultiNodeWeightedSampler(sources, {"a": 1.0, "b": 1.0}, rank=0, world_size=1)

    node, got = make(Interrupts), []
    with pytest.raises(KeyboardInterrupt):
        for value in node:
            got.append(value)
    assert got + list(node) == list(make(Own))


def test_a_source_is_read_ahead_but_not_too_far() -> None:
    source = data.Reads(100)
    for make, most in (
        (lambda: Prefetcher(IterableWrapper(source), 5), 5),
        (lambda: ParallelMapper(IterableWrapper(source), data.double, 3), 6),
        (lambda: ParallelMapper(IterableWrapper(source), str, 3, max_concurrent=2), 2),
    ):
        source.reads = 0
        node: BaseNode[Any] = make()
        next(node)
        assert eventually(lambda most=most: source.reads == most + 1)
        time.sleep(0.02)
        assert source.reads == most + 1


@pytest.mark.parametrize("method", ["thread", "process"])
def test_a_function_of_the_user_is_only_called(method: str) -> None:
    class Function:
        closed = False

        def __call__(self, x: int) -> int:
            return x

        def close(self) -> None:
            Function.closed = True

        interrupt = close

    gc.collect()
    before = len(own_threads())  # what tests before have left
    args = {"method": method, "multiprocessing_context": "fork"}
    assert list(ParallelMapper(numbers(), Function(), 2, **args)) == list(range(7))
    gc.collect()
    assert eventually(lambda: len(own_threads()) <= before) and not Function.closed


def test_a_reset_that_was_interrupted_still_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(own_threads())
    node = Prefetcher(Mapper(numbers(), data.Slow(0.2)), 2)
    next(node)
    [reader] = set(own_threads()) - before

    def interrupt(timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reader, "join", interrupt)
        with pytest.raises(KeyboardInterrupt):
            node.reset()
    node.reset()
    assert not reader.is_alive() and next(node) == 0


def test_several_threads_call_the_function() -> None:
    meet = threading.Barrier(4, timeout=20)
    node = ParallelMapper(numbers(4), lambda x: meet.wait() >= 0, 4)
    assert list(node) == [True] * 4


ABANDONED: dict[str, Callable[[], BaseNode[Any]]] = {
    "prefetch": lambda: Prefetcher(numbers(99), 3),
    "threads": lambda: ParallelMapper(numbers(99), data.double, 3),
    "out of order": lambda: ParallelMapper(numbers(99), data.double, 3, in_order=False),
    "prebatch": lambda: ParallelMapper(numbers(99), data.double, 2, prebatch=3),
    "deep": lambda: Prefetcher(
        Batcher(ParallelMapper(Prefetcher(numbers(99), 2), data.double, 2), 2), 2
    ),
    "weighted": lambda: MultiNodeWeightedSampler({"a": Prefetcher(numbers(99), 2)}, {"a": 1.0}),
    "failing": lambda: Prefetcher(ParallelMapper(numbers(99), data.fail3, 2), 2),
}


@pytest.mark.parametrize("name", ABANDONED)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_no_thread_is_left(name: str, most: int) -> None:
    gc.collect()  # what tests before have left
    assert eventually(lambda: not own_threads())
    gc.disable()  # what is dropped ends without the garbage collector
    try:
        iterator = iter(Loader(ABANDONED[name]()))
        assert own_threads()
        try:
            for _ in itertools.islice(iterator, most):
                pass
        except data.Boom:
            pass
        if most < 1000 or name == "failing":
            del iterator
        assert eventually(lambda: not own_threads()), own_threads()
    finally:
        gc.enable()


def test_no_thread_is_left_of_an_epoch_that_is_broken_off() -> None:
    loader = Loader(ABANDONED["deep"]())
    for k in range(5):
        assert next(iter(loader)) == [0, 2]
        assert len(own_threads()) <= 10, k  # five, and those that are about to end
    del loader
    assert eventually(lambda: not own_threads())


def test_a_reset_waits_for_the_thread_that_reads() -> None:
    """Two threads never read a source at the same time."""
    reading, together = [], []

    class Watched(BaseNode[int]):
        def reset(self, initial_state: dict[str, Any] | None = None) -> None:
            super().reset(initial_state)
            together.extend(reading)

        def next(self) -> int:
            reading.append(1)
            time.sleep(0.01)
            reading.pop()
            return 1

        def get_state(self) -> dict[str, Any]:
            return {}

    loader = Loader(Prefetcher(Watched(), 2))
    for _ in range(10):
        next(iter(loader))
    assert together == []


def test_a_forked_process_cannot_use_the_threads() -> None:
    node = Prefetcher(numbers(9), 2)
    assert next(node) == 0
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            next(node)
        except errors.Closed as err:
            node.reset()
            os.write(write, f"{err} {next(node)}".encode())
        finally:
            del node
            os._exit(0)
    os.waitpid(pid, 0)
    text = os.read(read, 1000).decode()
    assert "was forked from it" in text and text.endswith(" 0")
    os.close(read)
    os.close(write)
    assert list(node) == list(range(1, 9))


INTERRUPTED = """
    import node_data as data
    from bivouac.torch.nodes import *
    node = {node}
    loader = Loader(node)
    iterator = iter(loader)
    print("begun", flush=True)
    got, interrupts = [], 0
    while True:
        try:
            for value in iterator:
                got.append(value)
                if interrupts:
                    break
            break
        except KeyboardInterrupt:
            interrupts += 1
            state = loader.state_dict()
    other = Loader({node})
    other.load_state_dict(state)
    rest = list(other)
    print(interrupts, got + list(iterator), got[:state["num_yielded"]] + rest, flush=True)
"""


@pytest.mark.parametrize(
    "node",
    [
        "Prefetcher(Mapper(IterableWrapper(range(12)), data.Slow(0.1)), 2)",
        "ParallelMapper(IterableWrapper(range(12)), data.Slow(0.2), 2)",
        "ParallelMapper(IterableWrapper(range(12)), data.Slow(0.2), 2, method='process')",
        "ParallelMapper(IterableWrapper(range(12)), data.Slow(0.3), 3, prebatch=1)",
    ],
)
def test_an_interrupt_loses_nothing(node: str, tmp_path: Path) -> None:
    process = program(INTERRUPTED.format(node=node), tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.35)
    os.killpg(process.pid, signal.SIGINT)  # worker processes get it, too
    out, err = process.communicate(timeout=60)
    whole = list(range(12))
    assert out == f"1 {whole} {whole}\n", err
    assert err == ""


def test_a_program_ends_while_threads_wait(tmp_path: Path) -> None:
    for rest in ("next(iterator)", "raise SystemExit(0)", "del iterator"):
        code = f"""
            import node_data as data
            from bivouac.torch.nodes import *
            source = ParallelMapper(IterableWrapper(range(99)), data.Slow(0.1), 2)
            iterator = iter(Loader(Prefetcher(source, 2)))
            {rest}
        """
        process = program(code, tmp_path)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")
