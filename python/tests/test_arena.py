"""Arrays are copied whole, with one thread or with several, and arenas are shared out fairly."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path

import numpy as np
import pytest

from bivouac import _arena, _client
from bivouac.checkpoint import _engine


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

    def test_too_much_memory_is_an_error_that_says_so(self) -> None:
        with pytest.raises(MemoryError):
            _engine.arenas(_client.connection()).acquire(1 << 44)
