"""Mesh, Layout and Part."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import Layout, Mesh, Part, checkpoint, errors
from processes import Job, needs


def random_layout(draw: random.Random) -> Layout:
    """Draw a layout for an array of two axes and one of one axis."""
    sizes = draw.choice([(4,), (2, 2), (1, 4), (3,), (1,), (2, 1, 3)])
    axes = list("abc"[: len(sizes)])
    mesh, rules = Mesh(tuple(axes), sizes), []
    for name, rank in (("grid", 2), ("line", 1)):
        left = draw.sample(axes, len(axes))
        spec = []
        for _ in range(rank):
            n = draw.randrange(min(2, len(left)) + 1)
            spec.append(tuple(left[:n]) or None)
            left = left[n:]
        rules.append((f"**/{name}", spec))
    return Layout(mesh, rules)


def test_boxes_tile_the_array() -> None:
    draw = random.Random(18)
    for _ in range(50):
        layout = random_layout(draw)
        seen = np.zeros((7, 6), int)
        spec = layout.spec(["params", "grid"])
        assert spec is not None
        for process in range(len(layout.mesh)):
            (a, b), (n, m) = layout.mesh.box((7, 6), spec, process)
            seen[a : a + n, b : b + m] += 1
        assert (seen > 0).all() and (seen == seen[0, 0]).all()


def test_boxes_are_those_of_go() -> None:
    mesh = Mesh(("data", "model"), (2, 2))
    spec = (None, "model")
    boxes = [mesh.box((4, 6), spec, process) for process in range(4)]
    assert boxes == [[[0, 0], [4, 3]], [[0, 3], [4, 3]]] * 2
    assert mesh.box((7,), [("model", "data")], 3) == [[6], [1]]
    assert mesh.box((7,), [("model", "data")], 2) == [[2], [2]]


def test_patterns() -> None:
    layout = Layout(Mesh(("x",), (2,)), [("a/*/w", ["x"]), ("**/b", []), ("", [None])])
    assert layout.spec(["a", "1", "w"]) == ["x"]
    assert layout.spec(["a", "w"]) is None
    assert layout.spec(["b"]) == [] and layout.spec(["c", "d", "b"]) == []
    assert layout.spec([]) == [None]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mesh(("x",), ()),
        lambda: Mesh(("x", "x"), (1, 1)),
        lambda: Mesh(("x",), (0,)),
        lambda: Mesh(("x",), (2,)).box((4,), ["y"], 0),
        lambda: Mesh(("x",), (2,)).box((4, 4), ["x", "x"], 0),
        lambda: Mesh(("x",), (2,)).box((4,), [None, "x"], 0),
        lambda: Mesh(("x",), (2,)).box((4,), ["x"], 2),
        lambda: Part((4,), (3,), np.zeros(2)),
        lambda: Layout(Mesh(("x",), (2,)), [("w", [None, "x"])]).cut({"w": np.ones(3)}, 0),
    ],
)
def test_what_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(errors.Invalid):
        make()


@pytest.mark.usefixtures("sidecar")
def test_parts_of_one_process(tmp_path: Path) -> None:
    """One process asks for the parts of each process, as an abstract tree and in place."""
    draw = random.Random(5)
    state = {
        "params": {"grid": np.arange(42).reshape(7, 6), "line": np.arange(10.0)},
        "step": 3,
        "other": np.ones(2),
    }
    checkpoint.save(tmp_path / "c", state)
    for _ in range(6):
        layout = random_layout(draw)
        for process in range(len(layout.mesh)):
            want = layout.cut(state, process)
            described = layout.cut(checkpoint.metadata(tmp_path / "c").metadata, process)
            target = layout.cut(
                {
                    "params": {"grid": np.zeros((7, 6), int), "line": np.zeros(10)},
                    "step": 0,
                    "other": np.zeros(2),
                },
                process,
            )
            checkpoint.load(tmp_path / "c", into=target)
            for got in (checkpoint.load(tmp_path / "c", described), target):
                assert got["step"] == 3 and (got["other"] == 1).all()
                for name in ("grid", "line"):
                    a, b = got["params"][name], want["params"][name]
                    if isinstance(b, Part):
                        assert (a.shape, a.origin) == (b.shape, b.origin)
                        a, b = a.data, b.data
                    assert a.dtype == b.dtype and np.array_equal(a, b)
    whole = {"w": Part((2,), (0,), np.ones(2))}
    checkpoint.save(tmp_path / "whole", whole)
    assert checkpoint.load(tmp_path / "whole")["w"].tolist() == [1, 1]
    with pytest.raises(errors.BivouacError, match="gap"):
        checkpoint.save(tmp_path / "half", {"w": Part((2,), (0,), np.ones(1))})
    assert bivouac.Mesh is Mesh


SAVE = """
import bivouac
mesh = bivouac.Mesh(("data", "model"), (2, 2))
layout = bivouac.Layout(mesh, [("params/w", ("data", "model")), ("params/b", ("model",))])
whole = {"params": {"w": torch.arange(42.0).reshape(7, 6), "b": np.arange(5)}, "step": 3}
bv.save(directory + "/c", layout.cut(whole))
other = bivouac.Layout(bivouac.Mesh(("x",), (4,)), [("**/w", (None, "x")), ("**/b", ("x",))])
got = bv.load(directory + "/c", other.cut(whole))
for k, v in other.cut(whole)["params"].items():
    part = got["params"][k]
    assert part.origin == v.origin and type(part.data) is type(v.data)
    assert np.array_equal(np.asarray(part.data), np.asarray(v.data)), k
all_ = bv.load(directory + "/c")
assert np.array_equal(all_["params"]["w"], whole["params"]["w"]) and all_["step"] == 3
print("equal")
dist.barrier()
"""


def test_parts_of_four_processes(tmp_path: Path) -> None:
    needs("torch")
    assert Job("torch", SAVE, 4, tmp_path).outputs() == ["equal"] * 4
