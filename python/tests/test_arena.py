"""Arrays are copied whole, with one thread or with several, and arenas are shared out fairly."""

from __future__ import annotations

import gc
import mmap
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from bivouac import _arena, _client, _stage, errors
from bivouac.checkpoint import _engine
from fake_cuda import Runtime


def some_copies() -> tuple[list[_arena.Copy], int]:
    """Return copies of arrays of all layouts, and the bytes of the arena."""
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(1 << 20) for _ in range(3)]
    arrays += [
        rng.standard_normal((3, 1 << 20)),
        np.arange(24 << 10, dtype=np.int16).reshape(2, -1).T,
        np.arange(100, dtype=">f4"),
        np.broadcast_to(np.float32(2), (3, 4)),
        np.array(3.0),
        np.zeros((0, 3)),
        rng.standard_normal((1 << 18, 7))[:, ::2],
    ]
    copies: list[_arena.Copy] = []
    size = 0
    for array in arrays:
        copies.append((size, array, array.dtype.newbyteorder("<"), array.shape))
        size = (size + array.nbytes + 63) & ~63
    return copies, size


@pytest.mark.parametrize("threads", [1, 2, 4, 7])
def test_copies_are_whole(threads: int) -> None:
    copies, size = some_copies()
    memory = mmap.mmap(-1, size)
    if threads == 1:
        _arena.copy_all(memory, copies)
    else:
        _arena._copy_in_threads(memory, copies, threads, size)
    for offset, source, dtype, shape in copies:
        assert np.array_equal(np.ndarray(shape, dtype, memory, offset), source)


@pytest.mark.usefixtures("sidecar")
class TestArenas:
    """Saves hold at most two arenas, and wait for them."""

    def test_a_third_save_waits_for_an_arena(self) -> None:
        arenas = _engine.arenas(_client.connection())
        first, second = arenas.acquire(1000), arenas.acquire(1000)
        got: list[_arena.Lease] = []
        thread = threading.Thread(target=lambda: got.append(arenas.acquire(1000)))
        thread.start()
        thread.join(0.3)
        assert got == [] and first.arena is not second.arena
        second.hook(None, "released")  # type: ignore[arg-type]
        thread.join(10)
        assert [lease.arena for lease in got] == [second.arena]

    def test_many_background_saves_hold_two(self, tmp_path: Path) -> None:
        tree = {"a": np.ones(1 << 16)}
        calls = [
            _engine.start_save(
                "save", {"s": tree}, background=True, args={"path": str(tmp_path / str(i))}
            )
            for i in range(20)
        ]
        arenas = _client.connection().arenas
        assert arenas is not None and len(arenas._arenas) <= 2
        for call in calls:
            call.result()

    def test_a_refused_save_frees_its_arena(self, tmp_path: Path) -> None:
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "file").write_text("x")
        for _ in range(5):
            with pytest.raises(FileExistsError):
                _engine.start_save(
                    "save",
                    {"s": {"a": np.ones(100)}},
                    background=True,
                    args={"path": str(tmp_path / "c")},
                )
        arenas = _client.connection().arenas
        assert arenas is not None and arenas.held() == 0 and len(arenas._arenas) == 1

    def test_an_interrupt_while_memory_is_given_back_loses_no_arena(self) -> None:
        """The interrupt comes before each line in turn, until there are no more lines."""
        link = _client.connection()
        arenas = _engine.arenas(link)
        methods = {arenas._take.__code__, arenas._give_back.__code__, link.start.__code__}

        class Stop(Exception):
            pass

        def interrupted(line: int) -> bool:
            """Give an arena back with an interrupt before a line. Return False if none came."""
            left = line

            def trace(frame: FrameType, event: str, _: object) -> Any:
                nonlocal left
                if frame.f_code not in methods:
                    return None
                if event == "line":
                    left -= 1
                    if left == 0:
                        raise Stop
                return trace

            sys.settrace(trace)
            try:
                arenas._take(1 << 30, True)
            except Stop:
                pass
            finally:
                sys.settrace(None)
            return left <= 0

        line = 1
        while True:
            arenas.acquire(1000).release()
            came = interrupted(line)
            link._wait(lambda: not link._calls, 10, {})
            assert arenas.held() == 0, line
            numbers = list(arenas._arenas)
            first, second = arenas.acquire(1000), arenas.acquire(2000)
            assert arenas.held() == 2 and len(arenas._arenas) == 2, line
            for number in numbers:
                if number not in arenas._arenas:
                    with pytest.raises(errors.NotFound):  # it is not kept by the side-car
                        link.call("arena.free", arena=number)
            first.release()
            second.release()
            if not came:
                break
            line += 1
        assert line > 30

    def test_too_much_memory_is_an_error_that_says_so(self) -> None:
        with pytest.raises(MemoryError):
            _engine.arenas(_client.connection()).acquire(1 << 44)


@pytest.mark.usefixtures("sidecar")
class TestPinnedMemory:
    """Memory that is registered with CUDA is unregistered before it is unmapped."""

    def test_an_arena_is_registered_until_it_is_given_back(self, tmp_path: Path) -> None:
        cuda = Runtime()
        arenas = _engine.arenas(_client.connection())
        lease = arenas.acquire(1000, private=False)
        assert lease.arena is not None
        lease.arena.pin(cuda)
        lease.arena.pin(cuda)
        assert cuda.log == ["register"]
        lease.release()
        again = arenas.acquire(1000, private=False)
        assert again.arena is lease.arena and cuda.log == ["register"]
        again.release()
        larger = arenas.acquire(1 << 20, private=False)
        assert larger.arena is not lease.arena
        assert cuda.log == ["register", "unregister"] and cuda.registered == {}
        cuda.check()
        larger.release()
        # It is a save's as before.
        args = {"path": str(tmp_path / "c")}
        tree = {"a": np.arange(5)}
        _engine.start_save("save", {"s": tree}, background=False, args=args).result()

    def test_the_end_of_the_connection(self) -> None:
        cuda = Runtime()
        link = _client.connection()
        lease = _engine.arenas(link).acquire(1000, private=False)
        assert lease.arena is not None
        lease.arena.pin(cuda)
        lease.release()
        _client._close()
        assert cuda.log == ["register"]  # the lease has it
        del lease
        gc.collect()
        assert cuda.log == ["register", "unregister"]
        cuda.check()

    def test_memory_that_cuda_does_not_take(self) -> None:
        cuda = Runtime()
        cuda.refuses = True
        lease = _engine.arenas(_client.connection()).acquire(1000, private=False)
        assert lease.arena is not None
        with pytest.warns(RuntimeWarning, match="CUDA error 801"):
            lease.arena.pin(cuda)
        lease.arena.pin(cuda)
        lease.arena.close()
        assert cuda.log == ["register"] and cuda.faults == []
        lease.release()

    def test_the_fake_sees_memory_that_was_unmapped(self) -> None:
        cuda = Runtime()
        lease = _engine.arenas(_client.connection()).acquire(1000, private=False)
        assert lease.arena is not None
        memory = lease.arena.map()
        pinned = _stage.Pinned(memory, cuda)
        memory.close()
        with pytest.raises(AssertionError, match="unmapped while it was registered"):
            cuda.check()
        pinned.release()
        lease.release()
