"""bivouac.torch.StatefulDataLoader with worker processes, without torch."""

from __future__ import annotations

import gc
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loader_data as data
import numpy as np
import pytest
from conftest import eventually, running

import bivouac
from bivouac import errors
from bivouac.torch import Generator, StatefulDataLoader

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

METHODS = ("fork", "spawn", "forkserver")


def plain(batches: Any) -> Any:
    """Return batches as lists."""
    return [b.tolist() if hasattr(b, "tolist") else b for b in batches]


def make(dataset: Any, **args: Any) -> StatefulDataLoader:
    """Return a loader with two workers."""
    args = {"batch_size": 3, "num_workers": 2, **args}
    return StatefulDataLoader(dataset, generator=Generator().manual_seed(3), **args)


def descriptors() -> int:
    """Return how many descriptors the process has."""
    return len(os.listdir("/proc/self/fd"))


def slots() -> int:
    """Return how many slots the process has mapped."""
    return Path("/proc/self/maps").read_text().count("bivouac-slot")


def children() -> set[int]:
    """Return the processes that this one has started, zombies too."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        found |= set(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", [data.Numbers(20), data.Stream(20), data.StatefulStream(20)])
def test_start_methods(method: str, dataset: Any) -> None:
    iterable = not hasattr(dataset, "__getitem__")
    args: dict[str, Any] = {} if iterable else {"shuffle": True}
    whole = plain(make(dataset, multiprocessing_context="fork", **args))
    assert sorted(sum(whole, [])) == list(range(20))
    loader = make(dataset, multiprocessing_context=method, **args)
    iterator = iter(loader)
    before = plain(next(iterator) for _ in range(3))
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    loader = make(dataset, multiprocessing_context=method, **args)
    loader.load_state_dict(state)
    assert before + plain(loader) == whole


@pytest.mark.parametrize("interval", [1, 2, 3, 0])
@pytest.mark.parametrize(
    "dataset", [data.Numbers(31), data.Counted(31), data.Stream(31), data.StatefulStream(31)]
)
def test_every_state_resumes(dataset: Any, interval: int) -> None:
    args = {"snapshot_every_n_steps": interval, "multiprocessing_context": "fork"}
    whole = plain(make(dataset, **args))
    for at in range(0, len(whole) + 1, 2):
        loader = make(dataset, **args)
        iterator = iter(loader)
        before = plain(next(iterator) for _ in range(at))
        state = loader.state_dict()
        resumed = make(dataset, **args)
        resumed.load_state_dict(state)
        assert before + plain(resumed) == whole


@pytest.mark.parametrize("dataset", [data.Numbers(30), data.Stream(30), data.StatefulStream(30)])
def test_out_of_order_resumes_exactly(dataset: Any) -> None:
    want = sorted(sum(plain(make(dataset, batch_size=1)), []))
    for at in range(0, 30, 3):
        loader = make(dataset, batch_size=1, in_order=False, num_workers=3)
        iterator = iter(loader)
        got = plain(next(iterator) for _ in range(at))
        for _ in range(2):
            state = pickle.loads(pickle.dumps(loader.state_dict()))
            loader = make(dataset, batch_size=1, in_order=False, num_workers=3)
            loader.load_state_dict(state)
            iterator = iter(loader)
            got += plain([next(iterator)]) if at < 27 else []
        assert sorted(sum(got + plain(iterator), [])) == want


def test_out_of_order_does_not_wait_for_a_slow_worker(tmp_path: Path) -> None:
    note = tmp_path / "note"
    iterator = iter(make(data.Waits(8, str(note)), batch_size=1, in_order=False))
    first = plain([next(iterator)])
    note.touch()
    assert first == [[1]] and sorted(sum(plain(iterator), first[0])) == list(range(8))


def test_workers_know_themselves() -> None:
    loader = make(data.Numbers(4), batch_size=1, collate_fn=data.who)
    got = list(loader)
    seed = got[0][2]
    assert got == [(0, 2, seed), (1, 2, seed + 1)] * 2


def test_persistent_workers_stay() -> None:
    loader = make(data.Counted(9), persistent_workers=True)
    assert plain(loader) == plain(make(data.Numbers(9)))
    pids = loader._iterator._crew.pids()  # type: ignore[union-attr]
    iterator = iter(loader)  # begins anew in the midst of an epoch
    next(iterator)
    assert plain(iter(loader)) == plain(make(data.Numbers(9)))
    assert loader._iterator._crew.pids() == pids  # type: ignore[union-attr]
    state = loader.state_dict()
    calls = [w["dataset_state"]["calls"] for w in state["_snapshot"]["_worker_snapshots"].values()]
    assert sum(calls) > 9  # their data sets remember earlier epochs


def test_batches_are_not_overwritten() -> None:
    loader = make(data.Rows(60), batch_size=2)
    held = list(loader)
    for k, batch in enumerate(held):
        assert batch["id"].tolist() == [2 * k, 2 * k + 1]
        assert (batch["row"] == batch["id"][:, None]).all()
        assert list(batch["text"]) == [f"s{2 * k}", f"s{2 * k + 1}"]
    before = [batch["row"].copy() for batch in held]
    list(make(data.Rows(60), batch_size=2))
    assert all((a == b["row"]).all() for a, b in zip(before, held, strict=True))


# A worker has a number of slots. Batches beyond it are copied out of their slot, or travel in the
# message if the worker finds no slot: with 300 tasks of two workers the slots do not suffice.
@pytest.mark.parametrize("prefetch", [2, 300])
def test_a_program_may_hold_all_batches(prefetch: int) -> None:
    gc.collect()
    before = descriptors(), slots()
    held = [b["row"] for b in make(data.Rows(1600), batch_size=1, prefetch_factor=prefetch)]
    assert descriptors() < before[0] + 280 and slots() < 600
    assert [int(batch[0, 0]) for batch in held] == list(range(1600))
    assert all((batch == batch[0, 0]).all() for batch in held)
    del held
    gc.collect()
    assert descriptors() <= before[0] and slots() <= before[1]


@pytest.mark.parametrize("collate", [None, data.keep])
def test_a_data_set_may_keep_what_it_collates(collate: Any) -> None:
    loader = make(data.Caches(200), batch_size=2, collate_fn=collate)
    for k, batch in enumerate(loader):
        for i, rows in enumerate(batch):
            assert (np.asarray(rows) == (2 * k + i) % 8).all()


def test_memory_stays_flat() -> None:
    def used() -> int:
        gc.collect()
        total = 0
        for pid in (os.getpid(), *iterator._crew.pids()):  # type: ignore[attr-defined]
            text = Path(f"/proc/{pid}/statm").read_text().split()
            total += int(text[1]) - int(text[2])  # resident, less what is shared
        return total * os.sysconf("SC_PAGESIZE")

    loader = make(data.Rows(1 << 20), batch_size=2)
    iterator = iter(loader)
    for _ in range(500):
        next(iterator)
    first, mapped = used(), slots()
    for _ in range(3000):
        next(iterator)
    assert used() < first + (2 << 20) and slots() == mapped


def test_random_holding_never_mixes_batches() -> None:
    order, held = random.Random(1), []
    iterator = iter(make(data.Rows(400), batch_size=4, prefetch_factor=3))
    for k, batch in enumerate(iterator):
        held.append((k, batch["row"][order.randrange(4) :][:2], batch["row"].sum()))
        batch["row"] += 0  # batches may be written to
        while len(held) > order.randrange(12):
            held.pop(order.randrange(len(held)))
        for n, rows, _ in held:
            assert set(np.unique(rows)) <= set(range(4 * n, 4 * n + 4))
    assert k == 99
    assert slots() < 40  # slots are used again


@pytest.mark.parametrize("interval", [1, 3, 0])
@pytest.mark.parametrize(
    "dataset", [data.Numbers(60), data.Counted(60), data.Stream(60), data.StatefulStream(60)]
)
def test_a_killed_worker_is_replaced(dataset: Any, interval: int) -> None:
    args = {"snapshot_every_n_steps": interval, "num_workers": 3}

    def states(kill: Callable[[Any, int], None]) -> list[Any]:
        loader = make(dataset, **args)
        iterator = iter(loader)
        out = []
        for k, batch in enumerate(iterator):
            out.append((batch.tolist(), loader.state_dict()))
            kill(iterator, k)
        return out

    def kill(iterator: Any, k: int) -> None:
        if k in (0, 4, 5, 11):
            pid = iterator._crew.pids()[k % 3]
            os.kill(pid, signal.SIGKILL)
            if k % 2:
                eventually(lambda: not running(pid))

    want = states(lambda iterator, k: None)
    assert states(kill) == want


def test_a_sample_that_kills_is_read_again(tmp_path: Path) -> None:
    note = str(tmp_path / "note")
    assert sum(plain(make(data.Mortal(20, 7, note))), []) == list(range(20))
    iterator = iter(make(data.Mortal(20, 7), batch_size=1))
    got = []
    death = r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"
    with pytest.raises(RuntimeError, match=death):
        for batch in iterator:
            got += batch.tolist()
    assert got == list(range(len(got))) and len(got) <= 7
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)


def test_persistent_workers_are_replaced_between_epochs() -> None:
    loader = make(data.Numbers(9), persistent_workers=True)
    want = plain(loader)
    for pid in loader._iterator._crew.pids():  # type: ignore[union-attr]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not running(pid))
    assert plain(loader) == want


def test_random_kills_change_nothing() -> None:
    draw = random.Random(5)
    kinds = [data.Numbers(120), data.Counted(120), data.Stream(120), data.StatefulStream(120)]
    kills = 0
    for dataset in kinds * 2:
        args = {"snapshot_every_n_steps": draw.choice([1, 2, 5, 0]), "batch_size": 2}
        want = plain(make(dataset, **args))
        iterator = iter(make(dataset, **args))
        got = []
        for batch in iterator:
            got += plain([batch])
            if draw.random() < 0.2:
                time.sleep(draw.random() * 0.002)
                os.kill(draw.choice(iterator._crew.pids()), signal.SIGKILL)  # type: ignore
                kills += 1
        assert got == want
    assert kills > 60


def test_exceptions_have_the_traceback() -> None:
    loader = make(data.Fails(12), batch_size=2)
    iterator = iter(loader)
    got = plain(next(iterator) for _ in range(2))
    with pytest.raises(LookupError) as caught:
        next(iterator)
    text = str(caught.value)
    assert text.startswith("Caught LookupError in DataLoader worker process 0.\nOriginal Traceback")
    assert "loader_data.py" in text and text.rstrip().endswith("LookupError: no item 5")
    assert got + plain(iterator) == [[0, 1], [2, 3], [6, 7], [8, 9], [10, 11]]
    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        next(iter(make(data.FailsOddly(3))))
    with pytest.raises(ValueError, match="worker 0 cannot begin"):
        iter(make(data.Numbers(3), worker_init_fn=data.fail))
    with pytest.raises(Exception, match="pickle"):
        next(iter(make(data.Numbers(3), collate_fn=lambda batch: lambda: batch)))


def test_timeout() -> None:
    iterator = iter(make(data.Sleeps(2), batch_size=1, timeout=0.2))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        next(iterator)


def test_large_tasks_and_large_objects_do_not_block_each_other() -> None:
    loader = make(data.Numbers(400_000), batch_size=100_000, collate_fn=data.keep)
    assert [len(batch) for batch in loader] == [100_000] * 4
    loader = make(data.Long(24), batch_size=2, collate_fn=data.keep, prefetch_factor=6)
    iterator = iter(loader)
    next(iterator)
    time.sleep(0.05)
    assert sum(len(batch) for batch in iterator) == 22


def test_nothing_is_left() -> None:
    list(make(data.Rows(8)))
    gc.collect()
    before = descriptors(), slots(), children()
    for k in range(6):
        loader = make(data.Rows(30), persistent_workers=k % 2 == 1)
        iterator = iter(loader)
        for _ in range(k):
            next(iterator)
        if k == 5:
            os.kill(iterator._crew.pids()[0], signal.SIGKILL)  # type: ignore[attr-defined]
            list(iterator)
        del loader, iterator
    gc.collect()
    assert (descriptors(), slots(), children()) == before


def test_a_batch_stays_readable_without_its_loader() -> None:
    loader = make(data.Rows(8))
    batch = next(iter(loader))
    del loader
    gc.collect()
    assert batch["row"][2].tolist() == [2] * 5000
    del batch
    gc.collect()


PROGRAM = """
    import os, sys, time
    sys.path.insert(0, sys.argv[1])
    import loader_data as data
    from bivouac.torch import StatefulDataLoader
    loader = StatefulDataLoader(data.Sleeps(1000), num_workers=2)
    iterator = iter(loader)
    {before}
    print(*iterator._crew.pids(), flush=True)
    {rest}
"""


def test_workers_end_with_a_trainer_that_is_killed(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    # A process that the trainer has forked has the trainer's ends of the sockets, too.
    before = "if os.fork() == 0: time.sleep(60)"
    process = start(PROGRAM.format(before=before, rest="time.sleep(60)"))
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2 and all(map(running, pids))
    process.kill()
    process.wait()
    assert eventually(lambda: not any(map(running, pids)), 15)


def test_the_end_of_the_program_is_clean(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(PROGRAM.format(before="", rest="next(iterator)"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == ""
    assert eventually(lambda: not any(running(int(pid)) for pid in out.split()))


def test_an_interrupted_wait_goes_on(start: Callable[..., subprocess.Popen[str]]) -> None:
    rest = """
    for _ in range(2):
        try:
            next(iterator)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print(next(iterator).tolist(), flush=True)
    """
    process = start(PROGRAM.format(before="", rest=rest.strip()))
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # the workers get it, too
    out, err = process.communicate(timeout=60)
    assert out.startswith("interrupted\n[1]") and process.returncode == 0, err


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Start programs in sessions of their own, and kill what is left."""
    started: list[subprocess.Popen[str]] = []

    def begin(code: str) -> subprocess.Popen[str]:
        script = tmp_path / f"program{len(started)}.py"
        script.write_text(textwrap.dedent(code))
        source = str(Path(bivouac.__file__).parents[1])
        process = subprocess.Popen(
            [sys.executable, str(script), str(Path(data.__file__).parent)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


def select_ready(member: Any) -> bool:
    """Report whether a worker has sent something, which the trainer may have read already."""
    return bool(member.inbox or select.select([member.sock], [], [], 0)[0])


def test_a_forked_process_cannot_use_the_workers() -> None:
    loader = make(data.Numbers(90))
    iterator = iter(loader)
    next(iterator)
    taken = 1
    # Both workers have sent something. Each next() gives them work, and may read what is there.
    while not eventually(lambda: all(map(select_ready, iterator._crew._members)), 0.5):
        next(iterator)
        taken += 1
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            next(iterator)
            os.write(write, b"no error")
        except RuntimeError as err:
            os.write(write, str(err).encode())
        finally:
            del iterator, loader
            gc.collect()
            os._exit(0)
    os.waitpid(pid, 0)
    assert b"another process" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    assert len(list(iterator)) == 30 - taken  # the parent goes on


def test_loaders_in_threads() -> None:
    got: list[Any] = []

    def read() -> None:
        for batch in make(data.Rows(40)):
            assert (batch["row"] == batch["id"][:, None]).all()
        got.append(True)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 3


def test_a_state_is_refused_if_the_workers_are_others() -> None:
    state = make(data.Numbers(9)).state_dict()
    loader = make(data.Numbers(9), num_workers=1)
    loader.load_state_dict(state)
    with pytest.raises(errors.Mismatch, match="num_workers"):
        iter(loader)
