"""ParallelMapper with worker processes, without torch."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import pickle
import random
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import node_data as data
import pytest
from conftest import eventually, running
from node_helpers import own_threads, program

from bivouac import errors
from bivouac.torch.nodes import (
    BaseNode,
    Batcher,
    IterableWrapper,
    Loader,
    ParallelMapper,
    Prefetcher,
)

METHODS = ("fork", "spawn", "forkserver")


def mapped(source: Any, function: Any, workers: int = 2, **args: Any) -> ParallelMapper[Any]:
    """Return a ParallelMapper with processes."""
    args = {"multiprocessing_context": "fork", **args}
    return ParallelMapper(IterableWrapper(source), function, workers, method="process", **args)


def left() -> tuple[int, int, set[int]]:
    """Return how many descriptors and slots the process has, and its children, zombies too."""
    gc.collect()
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError):  # the thread has ended
            found |= set(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
    slots = Path("/proc/self/maps").read_text().count("bivouac-slot")
    return len(os.listdir("/proc/self/fd")), slots, found


def nothing_new(before: tuple[int, int, set[int]]) -> bool:
    """Report whether nothing is left since then. What other tests have left may have ended."""
    fds, slots, children = left()
    return fds <= before[0] and slots <= before[1] and children <= before[2]


@pytest.mark.parametrize("method", METHODS)
def test_start_methods_of_nodes(method: str) -> None:
    def make() -> Loader[int]:
        return Loader(mapped(range(9), data.double, multiprocessing_context=method, prebatch=2))

    loader = make()
    iterator = iter(loader)
    before = list(itertools.islice(iterator, 3))
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    assert before + list(iterator) == list(range(0, 18, 2))
    loader = make()
    loader.load_state_dict(state)
    assert before + list(loader) == list(range(0, 18, 2))


def test_other_processes_call_the_function() -> None:
    pids = set(mapped(range(40), data.pid, 3))
    assert os.getpid() not in pids and 1 <= len(pids) <= 3


@pytest.mark.parametrize("interval", [1, 3, 0])
@pytest.mark.parametrize("in_order", [True, False])
def test_every_state_of_processes_resumes(interval: int, in_order: bool) -> None:
    def make() -> Loader[int]:
        args = {"snapshot_frequency": interval, "in_order": in_order}
        return Loader(mapped(range(12), data.double, **args))

    want = list(range(0, 24, 2))
    for at in range(0, 12, 3):
        loader = make()
        iterator = iter(loader)
        before = list(itertools.islice(iterator, at))
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        loader = make()
        loader.load_state_dict(state)
        got = before + list(loader)
        assert (got if in_order else sorted(got)) == want


def test_arrays_pass_in_shared_memory() -> None:
    node = mapped(map(data.rows, range(12)), data.add_one)
    held = []
    for i, sample in enumerate(node):
        assert sample["id"] == i and (sample["row"] == i + 1).all()
        assert sample["sum"].tolist() == [5000 * (i + 1)]
        sample["row"][0] = -1  # results may be written to
        held.append(sample)
    assert [sample["row"][1] for sample in held] == list(range(1, 13))
    source = [data.rows(i) for i in range(6)]
    assert len(list(mapped(source, data.add_one))) == 6
    assert [sample["row"][0] for sample in source] == list(range(6))  # a worker has a copy


def test_a_worker_of_a_node_that_dies_is_replaced(tmp_path: Path) -> None:
    node = mapped(range(12), data.DieOnce(str(tmp_path), [0, 3, 7, 11]))
    assert list(node) == list(range(12))
    assert len(list(tmp_path.iterdir())) == 4


def test_random_kills_of_workers_change_nothing() -> None:
    draw, others = random.Random(3), left()[2]
    node = mapped(range(150), data.Slow(0.001), 3, snapshot_frequency=4)
    loader = Loader(node)
    iterator, kills, got, last = iter(loader), 0, [], 0
    for value in iterator:
        got.append(value)
        # Six items are under way at most, so no item loses two workers.
        if len(got) > last + 6 and draw.random() < 0.5:
            last = len(got)
            children = [pid for pid in left()[2] - others if running(pid)]
            if children:
                os.kill(draw.choice(children), signal.SIGKILL)
                kills += 1
    assert got == list(range(150)) and kills > 10


def test_a_death_is_seen_if_another_process_holds_the_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that the program forks while a worker starts inherits the worker's socket."""
    held, pair = [], socket.socketpair

    def make() -> tuple[socket.socket, socket.socket]:
        ours, theirs = pair()
        held.append(theirs.dup())
        return ours, theirs

    monkeypatch.setattr("bivouac.torch._start.socket.socketpair", make)
    node = mapped(range(8), data.DieOnce(str(tmp_path), [2, 5]))
    assert list(node) == list(range(8))
    del node
    assert eventually(lambda: not own_threads())
    for sock in held:
        sock.close()


@pytest.mark.parametrize("in_order", [True, False])
def test_an_item_that_ends_three_workers_is_reported(in_order: bool) -> None:
    node = mapped(range(8), data.die, in_order=in_order)
    got = []
    with pytest.raises(errors.Died, match="the end of 3 workers with the same item") as caught:
        for value in node:
            got.append(value)
    assert str(caught.value).count("SIGKILL") >= 3
    assert isinstance(caught.value, RuntimeError)
    assert "result of map_fn" in str(caught.value.__cause__)
    assert sorted(got + list(node)) == [0, 1, 2, 3, 5, 6, 7]  # the others come


def test_exceptions_of_processes_have_the_traceback() -> None:
    node = mapped(range(6), data.fail3)
    assert [next(node) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(data.Boom) as caught:
        next(node)
    text = str(caught.value)
    assert text.startswith("Caught Boom in _apply_udf.\nOriginal Traceback (most recent call last)")
    assert text.count("Caught") == 1 and "node_data.py" in text
    assert text.rstrip().endswith("Boom: failing at 3")
    assert list(node) == [4, 5]
    with pytest.raises(RuntimeError, match="^Caught Odd in _apply_udf"):
        next(mapped(range(2), data.fail_oddly))
    with pytest.raises(SystemExit, match="leaving"):
        list(mapped(range(2), data.leave))


def test_what_pickle_refuses_is_an_error() -> None:
    """In torchdata, the next item never comes."""
    node = mapped(range(5), data.local)
    assert [next(node), next(node)] == [0, 1]
    with pytest.raises(Exception, match="in _apply_udf(.|\n)*pickle"):
        next(node)
    assert list(node) == [3, 4]
    node = mapped([1, lambda: 2, 3], data.pid)
    next(node)
    with pytest.raises(Exception, match="in _apply_udf(.|\n)*pickle"):
        next(node)
    assert isinstance(next(node), int)
    with pytest.raises(Exception, match="pickle"):
        next(mapped(range(3), lambda x: x, multiprocessing_context="spawn"))
    assert list(mapped(range(3), lambda x: x)) == [0, 1, 2]  # fork needs no pickle of the function


def test_nothing_is_left_of_processes() -> None:
    list(mapped(map(data.rows, range(4)), data.add_one))
    gc.collect()
    assert eventually(lambda: not own_threads())
    before = left()
    for k in (0, 1, 5, 50):
        source = Prefetcher(mapped(map(data.rows, range(30)), data.add_one), 2)
        iterator = iter(Loader(Batcher(source, 2)))
        assert sum(len(batch) for batch in itertools.islice(iterator, k)) == min(2 * k, 30)
        del source, iterator
        assert eventually(lambda: not own_threads())
        assert eventually(lambda: nothing_new(before)), (left(), before)
    node: BaseNode[Any] = mapped(range(8), data.die)
    with pytest.raises(errors.Died):
        list(node)
    del node
    assert eventually(lambda: nothing_new(before)), (left(), before)
    loader = Loader(mapped(range(30), data.double))
    for _ in range(4):
        next(iter(loader))
    assert eventually(lambda: len(left()[2] - before[2]) == 2)
    del loader
    assert eventually(lambda: nothing_new(before)), (left(), before)


def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bivouac.torch.nodes._remote._WAIT", 0.2)
    before = left()
    node = mapped(range(4), data.Slow(60))
    node.reset()
    assert eventually(lambda: len(left()[2] - before[2]) == 2)
    time.sleep(0.1)
    begun = time.monotonic()
    del node
    assert time.monotonic() - begun < 1  # it does not wait
    assert eventually(lambda: left()[2] <= before[2] and not own_threads())


def test_a_failed_start_leaves_nothing() -> None:
    before = left()

    class Refuses(BaseNode[int]):
        def reset(self, initial_state: dict[str, Any] | None = None) -> None:
            raise data.Boom("no reset")

    node = ParallelMapper(
        Refuses(), data.double, 2, method="process", multiprocessing_context="fork"
    )
    with pytest.raises(data.Boom, match="no reset"):
        next(node)
    assert eventually(lambda: nothing_new(before)), (left(), before)


PROGRAM = """
    import os, time
    import node_data as data
    from bivouac.torch.nodes import *
    node = ParallelMapper(IterableWrapper(range(99)), data.Slow(0.3), 2, method="process")
    node.reset()
    {before}
    children = []
    for task in os.listdir("/proc/self/task"):
        children += open("/proc/self/task/" + task + "/children").read().split()
    print(*children, flush=True)
    {rest}
"""


def pids(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes that a program prints."""
    assert process.stdout is not None
    return [int(pid) for pid in process.stdout.readline().split()]


def test_workers_of_nodes_end_with_a_trainer_that_is_killed(tmp_path: Path) -> None:
    # A process that the trainer has forked has the trainer's ends of the sockets, too.
    before = "if (pid := os.fork()) == 0: time.sleep(60)"
    rest = "children.remove(str(pid)); print(*children, flush=True); time.sleep(60)"
    process = program(PROGRAM.format(before=before, rest=rest), tmp_path)
    try:
        pids(process)
        workers = pids(process)
        assert len(workers) == 2 and all(map(running, workers))
        process.kill()
        process.wait()
        assert eventually(lambda: not any(map(running, workers)), 60)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("rest", ["next(node)", "raise SystemExit(0)", "del node"])
def test_a_program_with_workers_of_nodes_ends_cleanly(rest: str, tmp_path: Path) -> None:
    process = program(PROGRAM.format(before="", rest=rest), tmp_path)
    workers = pids(process)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert len(workers) == 2 and eventually(lambda: not any(map(running, workers)))


def test_a_forked_process_does_not_end_the_workers() -> None:
    node = mapped(range(9), data.double)
    assert next(node) == 0
    pid = os.fork()
    if pid == 0:
        try:
            del node
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert list(node) == list(range(2, 18, 2))
