"""Saves and loads between memory of the trainer and the side-car, and by shared memory."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac as bv
from bivouac import _client, _pull, _rooms, errors


def state() -> dict[str, Any]:
    """Return a tree of arrays of many sizes."""
    rng = np.random.default_rng(5)
    sizes = [0, 1, 7, 4096, 70_000, 1 << 20, 3 << 20]
    kinds = [np.uint8, np.float32, np.int64, np.complex64, np.bool_]
    tree: dict[str, Any] = {}
    for i, size in enumerate(sizes):
        tree[f"a{i}"] = rng.integers(0, 100, size).astype(kinds[i % len(kinds)])
    tree["rows"] = rng.integers(0, 100, (3, 1000, 300)).astype(np.int16)
    return {**tree, "n": 3, "text": "x", "list": [np.arange(5), {"b": np.float32(2)}]}


def same(a: Any, b: Any) -> bool:
    """Report whether two trees are equal."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def shared() -> int:
    """Return how many loads in shared memory are mapped."""
    return Path("/proc/self/maps").read_text().count("bivouac-result")


def resident() -> int:
    """Return the resident bytes of the process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a checkpoint of state()."""
    bv.save(tmp_path / "ckpt", state())
    return tmp_path / "ckpt"


def test_arrays_lie_in_memory_of_the_process(saved: Path) -> None:
    before = shared()
    loaded = bv.load(saved)
    assert same(loaded, state()) and shared() == before
    loaded["a5"][:] = 1  # it may be written
    assert loaded["a5"].flags.writeable and loaded["a5"].ctypes.data % 64 == 0


def test_refused_tokens_load_in_shared_memory(saved: Path, monkeypatch: Any) -> None:
    before = shared()
    monkeypatch.setattr(_rooms.Token, "argument", lambda _: {"address": 64, "token": "00" * 16})
    loaded = bv.load(saved)
    assert same(loaded, state()) and shared() == before + 1
    del loaded
    gc.collect()
    assert shared() == before
    monkeypatch.setattr(_rooms, "enabled", False)
    assert same(bv.load(saved), state())


def test_abstract_trees_and_targets(saved: Path) -> None:
    tree = state()
    abstract = {key: None if key != "rows" else np.empty((3, 1000, 300), np.int32) for key in tree}
    loaded = bv.load(saved, abstract)
    assert loaded["rows"].dtype == np.int32 and (loaded["rows"] == tree["rows"]).all()
    target = {**state(), "a6": np.zeros(3 << 20, np.float32)}
    assert same(bv.load(saved, into=target), tree)


def test_memory_is_given_back(tmp_path: Path) -> None:
    bv.save(tmp_path / "ckpt", {"w": np.ones(64 << 20, np.uint8), "b": np.ones(3, np.uint8)})
    bv.load(tmp_path / "ckpt")
    gc.collect()
    first = resident()
    held = bv.load(tmp_path / "ckpt")
    assert resident() > first + (60 << 20)
    view = held["w"][5:9]
    del held
    gc.collect()
    assert view.tolist() == [1] * 4
    del view
    gc.collect()
    assert resident() < first + (8 << 20)


def test_a_forked_child_has_its_own_copy(saved: Path) -> None:
    loaded = bv.load(saved)
    child = os.fork()
    if child == 0:
        good = same(loaded, state())
        loaded["a6"][:] = 0
        os._exit(0 if good and same(bv.load(saved), state()) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert same(loaded, state())


def test_loads_in_threads(saved: Path) -> None:
    wrong: list[int] = []

    def work(i: int) -> None:
        if not all(same(bv.load(saved), state()) for _ in range(4)):
            wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_killed_side_car_leaves_no_half_load(saved: Path) -> None:
    died = 0
    for k in range(30):
        link = _client.connection()
        kill = threading.Timer(0.002 * (k % 10), os.kill, (link.server["pid"], 9))
        kill.start()
        try:
            for _ in range(20):
                assert same(bv.load(saved), state())
        except errors.Died:
            died += 1
        kill.join()
        deadline = time.monotonic() + 5
        while link.alive() and time.monotonic() < deadline:
            time.sleep(0.001)
    assert died > 0 and same(bv.load(saved), state())


def awkward() -> dict[str, Any]:
    """Return arrays that are not as the file wants them, beside arrays that are."""
    rng = np.random.default_rng(6)
    wide = rng.integers(0, 1 << 30, (700, 900))
    return {
        "transposed": wide.T,
        "every other": wide[::2, ::3],
        "backwards": wide[::-1],
        "big-endian": wide.astype(">i8"),
        "plain": wide,
        "read-only": np.frombuffer(bytes(range(256)) * 300, np.uint8),
        "scalar": np.float32(3),
        "point": np.array(4.5),
        "many": [np.full(i % 7, i, np.int16) for i in range(3000)],
        "spread": np.broadcast_to(np.arange(5.0), (4000, 5)),
        "empty": np.zeros((0, 3)),
    }


def test_arrays_of_every_form_are_pulled(tmp_path: Path, monkeypatch: Any) -> None:
    bv.save(tmp_path / "whole", awkward())
    monkeypatch.setattr(_pull, "_BUFFER", 100_000)  # many calls, and arrays that are cut
    monkeypatch.setattr(_pull, "_PIECES", 3)
    bv.save(tmp_path / "cut", awkward())
    monkeypatch.setattr(_rooms, "enabled", False)
    bv.save(tmp_path / "shared", awkward())
    want = awkward()
    want["big-endian"] = want["plain"]
    for name in ("whole", "cut", "shared"):
        assert same(bv.load(tmp_path / name), want)


def test_memory_that_cannot_be_read_is_copied(saved: Path, monkeypatch: Any) -> None:
    calls: list[int] = []

    def nowhere(_: Any) -> int:
        calls.append(1)
        return 4096

    monkeypatch.setattr(_pull, "_address", nowhere)
    bv.save(saved.parent / "other", state())
    assert calls and same(bv.load(saved.parent / "other"), state())


def test_a_save_has_the_arrays_as_they_were(tmp_path: Path) -> None:
    tree = {"w": np.zeros(16 << 20, np.uint8), "b": np.zeros(5)}
    responses = []
    for k in range(6):
        tree["w"][:] = k
        tree["b"][:] = k
        responses.append(bv.checkpoint.save_async(tmp_path / f"{k}", tree))
    for k, response in enumerate(responses):
        response.result()
        loaded = bv.load(tmp_path / f"{k}")
        assert (loaded["w"] == k).all() and (loaded["b"] == k).all()
