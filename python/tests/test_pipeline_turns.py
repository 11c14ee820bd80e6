"""Ends of epochs with batches in flight, threads that share a pipeline, and files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import fn, types
from lifecycle import output

pytestmark = pytest.mark.usefixtures("sidecar")

Taken = tuple[int, float]


def epochs(batches: int = 4, **options: Any) -> Any:
    """Return a pipeline whose batch i of epoch e has the number 100 * e + i."""

    def source(info: Any) -> Any:
        if info.iteration >= batches:
            raise StopIteration
        return np.full((2, 1), info.epoch_idx * 100 + info.iteration, np.int32)

    @bivouac.pipeline_def(
        batch_size=2, num_threads=1, device_id=None, seed=3, enable_checkpointing=True
    )
    def graph() -> Any:
        given = fn.external_source(source=source, batch_info=True, dtype=types.INT32)
        return given, fn.random.uniform()

    return graph(**options)


def taken(pipe: Any) -> Taken:
    number, noise = pipe.share_outputs()
    return int(number.as_array()[0, 0]), float(noise.as_array()[0])


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("before", range(5))
def test_an_epoch_ends_behind_the_batches_in_flight(before: int, depth: int) -> None:
    """Batches come in DALI's order. A state leads to the batches that would have come."""
    straight = epochs()
    want: list[Taken] = []
    while len(want) < 12:
        try:
            number, noise = straight.run()
            want.append((int(number.as_array()[0, 0]), float(noise.as_array()[0])))
        except StopIteration:
            straight.reset()
    pipe = epochs(prefetch_queue_depth=depth)
    while not pipe._last_iter:
        pipe.schedule_run()
    seen = [taken(pipe) for _ in range(before)]
    states = []
    for _ in range(2):
        pipe.reset()
        pipe.reset()  # does nothing
        while not pipe._last_iter:
            pipe.schedule_run()
        for _ in range(4):
            states.append((len(seen), pipe.checkpoint()))
            seen.append(taken(pipe))
    assert seen == want[: len(seen)]
    for at, state in states:
        again = epochs(checkpoint=state, prefetch_queue_depth=depth)
        again.schedule_run()
        assert taken(again) == want[at]


@pytest.mark.parametrize("depth", [1, 3])
def test_threads_take_turns(depth: int) -> None:
    """Each batch comes to one thread, and none is lost or made twice."""

    def source(i: int) -> Any:
        if i == 200:
            raise StopIteration
        return np.full((2, 1), i, np.int32)

    @bivouac.pipeline_def(
        batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=depth
    )
    def graph() -> Any:
        return fn.external_source(source=source)

    pipe = graph()  # the threads build it
    lists: list[list[int]] = [[] for _ in range(4)]
    failures: list[BaseException] = []

    def work(mine: list[int]) -> None:
        try:
            while True:
                (batch,) = pipe.run()
                mine.append(int(batch.as_array()[0, 0]))
                pipe.empty()
        except StopIteration:
            pass
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(sum(lists, [])) == list(range(200))
    assert all(mine == sorted(mine) for mine in lists)


def test_a_fork_during_the_turn_of_a_thread(program: Callable[..., Any]) -> None:
    """A child gets an error for its parent's pipeline, and does not wait for a turn."""
    process = program(
        """
import os, threading
import numpy as np
import bivouac
from bivouac import errors, fn
inside, go_on = threading.Event(), threading.Event()
def source(i):
    if i == 5:
        inside.set()
        go_on.wait()
    return np.full((2, 1), i, np.int32)
@bivouac.pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
def graph():
    return fn.external_source(source=source)
pipe = graph()
def work():
    for _ in range(8):
        pipe.run()
thread = threading.Thread(target=work)
thread.start()
inside.wait()
pid = os.fork()
if pid == 0:
    try:
        pipe.run()
    except errors.Closed:
        os._exit(0)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
go_on.set()
thread.join()
assert int(pipe.run()[0].as_array()[0, 0]) == 8
print("ok")
"""
    )
    assert output(process) == "ok\n"


@pytest.mark.parametrize("kind", ["serialized", "drawing"])
def test_files_are_replaced_as_a_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = epochs()
    path = tmp_path / "file"

    def write() -> None:
        if kind == "serialized":
            pipe.serialize(filename=path)
        else:
            pipe.save_graph_to_dot_file(path)

    path.write_bytes(b"before")
    path.chmod(0o640)

    def fails(_: int) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="no room"):
            write()
    assert path.read_bytes() == b"before"
    write()
    whole = path.read_bytes()
    assert len(whole) > 100
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.rename(tmp_path / "other")
    path.symlink_to("other")
    (tmp_path / "other").write_bytes(b"before")
    write()
    assert path.is_symlink() and (tmp_path / "other").read_bytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "other"]


def test_a_pipe_gets_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    thread.start()
    want = epochs().serialize(filename=path)
    thread.join()
    assert got == [want] and stat.S_ISFIFO(path.stat().st_mode)
