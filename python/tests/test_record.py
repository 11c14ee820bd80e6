"""Records: what is written, and that Go and Python agree. The tests of crashtest are in Go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import timeit
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import _record, errors

SOURCE = Path(__file__).resolve().parents[1]
VECTORS = SOURCE.parent / "record" / "testdata" / "vectors.json"


def recorded(tmp_path: Path, code: str, **environ: str) -> list[dict[str, Any]]:
    """Return the lines that a program records."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "BIVOUAC_RECORD": str(tmp_path), **environ}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, check=True)
    files = sorted(tmp_path.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def specimens() -> dict[str, Any]:
    """Return the trees that record_test.go builds too, in other containers and orders."""
    half = np.array([0x3F80, 0xC000], np.uint16)
    try:
        import ml_dtypes

        half = half.view(ml_dtypes.bfloat16)
    except ImportError:
        half = pytest.importorskip("torch").tensor([1.0, -2.0]).bfloat16()
    return {
        "empty": {},
        "scalars": OrderedDict(
            text="Schnee ☃",
            yes=True,
            x=0.1,
            n=-3,
            nan=float("nan"),
            none=None,
            big=2**64 - 1,
        ),
        "arrays": {
            "half": half,
            "scalar": np.float32(7),
            "mask": np.array([True, False]),
            "none": np.zeros((0, 4)),
            "a.d": np.array([-1, 2**63 - 1], ">i8"),
            "b/c": np.arange(1, 7, dtype=np.float32).reshape(3, 2).T.copy().T.reshape(2, 3),
        },
        "nested": {10: ({"w": np.array([1, 2], np.uint8)}, [], "x"), 9: {"": 1}},
    }


def vectors() -> Any:
    if not VECTORS.is_file():
        pytest.skip("no vectors: this is not a clone of the repository")
    return json.loads(VECTORS.read_text())


@pytest.mark.parametrize("name", ["empty", "scalars", "arrays", "nested"])
def test_digests_are_those_of_go(name: str) -> None:
    assert _record.digest(specimens()[name]) == vectors()["digests"][name]


def test_ids_and_losses_are_those_of_go() -> None:
    for case in vectors()["ids"]:
        assert _record.encode_ids(case["ids"]) == case["text"]


def test_lines(tmp_path: Path) -> None:
    lines = recorded(
        tmp_path,
        """
        import numpy as np, bivouac
        assert bivouac.record.on
        bivouac.record.resumed(30)
        tree = {"w": np.ones(3, np.float32)}
        bivouac.record(np.array([5, 3]), tree, step=31, epoch=2, loss=np.float32(0.1))
        bivouac.record(7, loss=[0.5, float("inf")])
        bivouac.record()
        """,
        RANK="3",
    )
    assert lines[0]["format"] == "bivouac.record" and lines[0]["version"] == 1
    assert lines[0]["rank"] == 3 and lines[0]["pid"] > 0
    assert lines[1] == {"resumed": 30}
    assert lines[2]["step"] == 31 and lines[2]["epoch"] == 2 and lines[2]["n"] == 2
    assert lines[2]["ids"] == _record.encode_ids([5, 3])
    assert lines[2]["loss"] == ["3fb99999a0000000"]
    assert lines[2]["weights"] == _record.digest({"w": np.ones(3, np.float32)})
    assert lines[3] == {"n": 1, "ids": "Dg==", "loss": ["3fe0000000000000", "7ff0000000000000"]}
    assert lines[4] == {}


def test_ids() -> None:
    ids = _record.sample_ids
    assert ids([1, 2]) == ids((1, 2)) == ids(np.array([1, 2], np.int32)) == [1, 2]
    assert ids(np.array([2**64 - 1], np.uint64)) == [-1] and ids(np.int64(4)) == [4]
    assert ids(range(3)) == [0, 1, 2] and ids(None) == [] and ids([]) == []
    assert ids(["a", "b"]) == ids(np.array(["a", "b"])) and len(set(ids(["a", "b", b"a"]))) == 2
    batch = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert len(set(ids(batch))) == 3 and ids(batch[1:]) == ids(batch)[1:]
    assert all(0 <= value < 2**63 for value in ids(batch))
    assert ids([np.int64(3), np.int64(4)]) == [3, 4]


def test_a_forked_child_writes_its_own_file(tmp_path: Path) -> None:
    recorded(
        tmp_path,
        """
        import os, bivouac
        bivouac.record(1)
        if (child := os.fork()) == 0:
            bivouac.record(2)
            os._exit(0)
        os.waitpid(child, 0)
        bivouac.record(3)
        """,
    )
    files = [file.read_text().splitlines() for file in tmp_path.glob("*.jsonl")]
    # The parent goes on in its file; the child has one with a header of its own.
    assert sorted(len(lines) for lines in files) == [2, 3]


def test_off_costs_nothing() -> None:
    assert not bivouac.record.on
    bivouac.record(object(), object(), step=1)  # nothing looks at them
    seconds = min(timeit.repeat(lambda: bivouac.record(None, None, step=1), number=10000))
    print(f"{seconds / 10000 * 1e9:.0f} ns a call")


def test_off_imports_nothing() -> None:
    code = "import bivouac, sys; bivouac.record([1], {}); assert 'numpy' not in sys.modules"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    env.pop("BIVOUAC_RECORD", None)
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def test_a_directory_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIVOUAC_RECORD", str(tmp_path / "none"))
    with pytest.raises(errors.BivouacError, match="unset the variable"):
        _record.Recorder()(1)


def test_weights_that_no_checkpoint_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIVOUAC_RECORD", str(tmp_path))
    with pytest.raises(errors.Invalid):
        _record.Recorder()(1, {"w": object()})


@pytest.mark.torch
def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = torch.from_numpy(array)
    assert _record.digest({"w": tensor}) == _record.digest({"w": array})
    assert _record.sample_ids(tensor) == _record.sample_ids(array)
    assert _record.sample_ids(torch.tensor([3, 1])) == [3, 1]
    assert _record.sample_ids(torch.tensor(3)) == [3]
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    assert _record.digest({"model": model, "optimizer": optimizer}) == _record.digest(states)
    assert _record.digest(model) == _record.digest(model.state_dict())


def test_arrays_of_several_devices() -> None:
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 2:
        pytest.skip("one device")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    array = np.arange(8, dtype=np.float32)
    assert _record.digest([jax.device_put(array, sharding)]) == _record.digest([array])
