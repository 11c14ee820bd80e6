"""Orbax reads what Bivouac saved, and the reverse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ours
from both import normal, orbax

pytestmark = pytest.mark.usefixtures("sidecar")


def state() -> dict[str, Any]:
    return {
        "w": np.arange(4096, dtype=np.float32).reshape(64, 64),
        "small": np.arange(3, dtype=np.int16),
        "b": {"c": 1.5, "s": "x", "n": None, "i": 7, "t": True, "": 1},
        "l": [np.array([1, 2], np.float16), {}, [], (np.zeros(1), 2)],
        "c": np.array([1 + 2j], np.complex64),
        "z": np.array(3.0),
    }


def pairs() -> list[Any]:
    return [pytest.param(True, id="orbax-saves"), pytest.param(False, id="bivouac-saves")]


def roles(orbax_saves: bool) -> tuple[Any, Any]:
    """Return the package that saves and the one that loads."""
    theirs = orbax()
    return (theirs, ours) if orbax_saves else (ours, theirs)


@pytest.mark.parametrize("orbax_saves", pairs())
@pytest.mark.parametrize("use_ocdbt", [True, False])
@pytest.mark.parametrize("use_zarr3", [True, False])
@pytest.mark.parametrize("use_compression", [True, False])
def test_trees(
    orbax_saves: bool, use_ocdbt: bool, use_zarr3: bool, use_compression: bool, tmp_path: Path
) -> None:
    saver, loader = roles(orbax_saves)
    value = state()
    del value["b"][""]
    context = saver.Context()
    context.array.saving.use_ocdbt = use_ocdbt
    context.array.saving.use_zarr3 = use_zarr3
    context.array.saving.use_compression = use_compression
    with context:
        saver.save(str(tmp_path / "a"), value, custom_metadata={"k": [1]})
    value["l"][3] = list(value["l"][3])
    assert normal(loader.load(str(tmp_path / "a"))) == normal(value)
    assert loader.metadata(str(tmp_path / "a")).custom_metadata == {"k": [1]}


@pytest.mark.parametrize("orbax_saves", pairs())
def test_jax_arrays(orbax_saves: bool, tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    saver, loader = roles(orbax_saves)
    value = {"w": jax.numpy.arange(12.0).reshape(3, 4), "h": jax.numpy.ones(3, jax.numpy.bfloat16)}
    saver.save(str(tmp_path / "a"), value)
    abstract = jax.tree.map(ours.arrays.to_shape_dtype_struct, value)
    loaded = loader.load(str(tmp_path / "a"), abstract)
    assert all(isinstance(x, jax.Array) for x in jax.tree.leaves(loaded))
    assert normal(loaded) == normal(value)


@pytest.mark.parametrize("orbax_saves", pairs())
def test_items(orbax_saves: bool, tmp_path: Path) -> None:
    saver, loader = roles(orbax_saves)
    value = {"config": {"lr": 0.1, "tags": ["a", None]}, "state": {"a": np.zeros(3)}}

    def context(package: Any) -> Any:
        registry = package.handlers.local_registry()
        registry.add(package.handlers.JsonHandler, checkpointable_name="config")
        options = package.options.CheckpointablesOptions(registry=registry)
        return package.Context(checkpointables_options=options)

    with context(saver):
        saver.save_checkpointables(str(tmp_path / "a"), value)
    with context(loader):
        assert normal(loader.load_checkpointables(str(tmp_path / "a"))) == normal(value)
    assert normal(loader.load_checkpointables(str(tmp_path / "a"))) == normal(value)


@pytest.mark.parametrize("orbax_saves", pairs())
def test_runs(orbax_saves: bool, tmp_path: Path) -> None:
    """A run goes on with the other package; both see the same steps, metrics and metadata."""
    first, second = roles(orbax_saves)
    run = str(tmp_path / "run")
    with first.training.Checkpointer(run, custom_metadata={"run": 1}) as c:
        for step in range(3):
            c.save(step, {"a": np.full(3, step)}, metrics={"l": step / 2}, force=True)
    with second.training.Checkpointer(
        run, preservation_policy=second.training.preservation_policies.LatestN(3)
    ) as c:
        assert [(x.step, x.metrics) for x in c.checkpoints] == [
            (0, {"l": 0.0}),
            (1, {"l": 0.5}),
            (2, {"l": 1.0}),
        ]
        assert c.root_metadata().custom_metadata == {"run": 1}
        assert normal(c.load()) == normal({"a": np.full(3, 2)})
        assert normal(c.load(0)) == normal({"a": np.full(3, 0)})
        c.save_checkpointables(7, {"x": {"v": 1}, "state": {"a": 3}}, metrics={"l": 9.0})
        assert [x.step for x in c.checkpoints] == [1, 2, 7]
    with first.training.Checkpointer(run) as c:
        assert [x.step for x in c.checkpoints] == [1, 2, 7]
        assert c.latest.metrics == {"l": 9.0}
        assert normal(c.load_checkpointables()) == {"x": {"v": 1}, "state": {"a": 3}}
        assert c.save(8, {"a": 4})
    with second.training.Checkpointer(run) as c:
        assert c.load() == {"a": 4}


@pytest.mark.parametrize("orbax_saves", pairs())
def test_sessions(orbax_saves: bool, tmp_path: Path) -> None:
    """A session of partial saves goes on with the other package."""
    first, second = roles(orbax_saves)
    path = str(tmp_path / "p")
    first.partial.save(path, {"a": np.zeros(2), "l": {"x": 1}})
    second.partial.save(path, {"b": np.ones(2000)})
    first.partial.save(path, {"c": "s"})
    second.partial.finalize(path)
    want = normal({"a": np.zeros(2), "l": {"x": 1}, "b": np.ones(2000), "c": "s"})
    assert normal(first.load(path)) == want
    assert normal(second.load(path)) == want


class Both:
    """An object that saves itself, for both packages."""

    def __init__(self, n: int) -> None:
        self.n = n

    async def save(self, directory: Any) -> Any:
        n = self.n

        async def write() -> None:
            (await directory.await_creation() / "n").write_text(str(n))

        return write()

    async def load(self, directory: Any) -> Any:
        async def read() -> None:
            self.n = int((directory / "n").read_text())

        return read()


@pytest.mark.parametrize("orbax_saves", pairs())
def test_objects(orbax_saves: bool, tmp_path: Path) -> None:
    saver, loader = roles(orbax_saves)
    saver.save_checkpointables(str(tmp_path / "a"), {"it": Both(5), "state": {"a": 1}})
    target = Both(0)
    loader.load_checkpointables(str(tmp_path / "a"), {"it": target})
    assert target.n == 5
