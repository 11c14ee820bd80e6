"""Arrays are copied whole by two threads, also after interrupts, forks and errors."""

from __future__ import annotations

import mmap
import os
import threading
from typing import Any

import numpy as np
import pytest

from bivouac import _arena, _copying

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)


@pytest.fixture(autouse=True)
def helper(monkeypatch: pytest.MonkeyPatch) -> _copying._Helper:
    """Have two threads copy small data in small pieces, also where there is one core."""
    monkeypatch.setattr(_copying, "_LARGE", 1000)
    monkeypatch.setattr(_copying, "_PIECE", 500)
    monkeypatch.setattr(_copying, "cores", lambda: 2)
    made = _copying._Helper()
    monkeypatch.setattr(_copying, "_helper", made)
    return made


def some_copies(seed: int = 0) -> tuple[list[_arena.Copy], int]:
    """Return copies of arrays of many forms, and the bytes of the memory."""
    rng = np.random.default_rng(seed)
    laid = _arena.Layout()
    for array in [
        np.array(3.0),
        np.zeros((0, 3)),
        rng.integers(0, 99, (1000, 7)),
        rng.integers(0, 99, (1000, 7))[::-2, ::3],
        rng.standard_normal((1, 3000)),
        np.arange(5000, dtype=">i4"),
        rng.standard_normal((70, 50)).T,
    ]:
        laid.place(array)
    laid.stack([rng.integers(0, 99, (20, 9)) for _ in range(50)])
    return laid.copies, laid.size


def check(memory: mmap.mmap, copies: list[_arena.Copy]) -> None:
    """Fail unless all arrays are where they belong."""
    for offset, source, dtype, shape in copies:
        np.testing.assert_array_equal(np.ndarray(shape, dtype, memory, offset), source)


def test_copies_are_whole(helper: _copying._Helper) -> None:
    for seed in range(200):
        copies, size = some_copies(seed)
        memory = mmap.mmap(-1, size)
        _copying.copy_together(memory, copies)
        check(memory, copies)
    assert not helper.jobs


def test_pieces_are_all_of_it_once() -> None:
    copies, size = some_copies()
    seen = np.zeros(size, np.int64)
    for piece in _copying._cut(copies):
        assert piece
        for offset, source, _, shape in piece:
            assert source.shape == shape
            seen[offset : offset + source.nbytes] += 1
    want = np.zeros(size, np.int64)
    for offset, source, _, _ in copies:
        want[offset : offset + source.nbytes] += 1
    np.testing.assert_array_equal(seen, want)


def test_threads_copy_at_a_time() -> None:
    failed: list[BaseException] = []

    def copy(seed: int) -> None:
        try:
            for number in range(50):
                copies, size = some_copies(seed + number)
                memory = mmap.mmap(-1, size)
                _copying.copy_together(memory, copies)
                check(memory, copies)
        except BaseException as err:
            failed.append(err)

    threads = [threading.Thread(target=copy, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("who", ["MainThread", "bivouac-copy"])
def test_an_error_of_either_thread_is_raised(
    who: str, helper: _copying._Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies, size = some_copies()
    memory = mmap.mmap(-1, size)
    came = threading.Event()

    def broken(memory: Any, piece: Any) -> None:
        if threading.current_thread().name == who:
            came.set()
            raise MemoryError("no memory")
        assert came.wait(10)
        _arena.copy_rows(memory, piece)

    monkeypatch.setattr(_copying, "copy_rows", broken)
    with pytest.raises(MemoryError, match="no memory"):
        _copying.copy_together(memory, copies)
    assert not helper.jobs
    monkeypatch.undo()
    _copying.copy_together(memory, copies)
    check(memory, copies)


def test_what_an_interrupt_left_ends_before_the_memory_is_written_again(
    helper: _copying._Helper,
) -> None:
    """The owner of the first job did not come to its end, and the helper goes on with it."""
    first, size = some_copies(1)
    second, _ = some_copies(2)
    for _ in range(200):
        memory = mmap.mmap(-1, size)
        helper.add(_copying._Job(memory, first))
        _copying.copy_together(memory, second)
        check(memory, second)
    assert not helper.jobs


def test_without_a_further_thread_one_copies_alone(
    helper: _copying._Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    copies, size = some_copies()
    memory = mmap.mmap(-1, size)
    _copying.copy_together(memory, copies)
    check(memory, copies)
    assert helper._thread is None


def test_a_forked_child_has_a_helper_of_its_own() -> None:
    copies, size = some_copies()
    memory = mmap.mmap(-1, size)
    _copying.copy_together(memory, copies)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            other, _ = some_copies(5)
            _copying.copy_together(memory, other)
            check(memory, other)
            assert threading.active_count() == 2
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
