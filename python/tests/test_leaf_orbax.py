"""Leaf handlers of Orbax and of Bivouac: the same programs, and each reads what the other saved."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ocp
from both import Record, differences, orbax
from leaf_points import (
    AbstractPoint,
    AbstractWords,
    Point,
    PointHandler,
    Words,
    WordsHandler,
    abstract,
    same,
    state,
)

pytestmark = pytest.mark.usefixtures("sidecar")


def leaves(package: Any) -> Any:
    """Return a registry of a package with the handlers of the tests."""
    if package is ocp:
        made = ocp.serialization.StandardLeafHandlerRegistry()
    else:
        name = "orbax.checkpoint.experimental.v1._src.serialization.registry"
        made = importlib.import_module(name).StandardLeafHandlerRegistry()
    made.add(Point, AbstractPoint, PointHandler)
    made.add(Words, AbstractWords, WordsHandler)
    return made


def context(package: Any) -> Any:
    """Return a context whose handler of trees has the leaf handlers. Orbax has no other place."""

    class Trees(package.handlers.PyTreeHandler):  # type: ignore[name-defined,misc]
        def __init__(self, **arguments: Any) -> None:
            super().__init__(leaf_handler_registry=leaves(package), **arguments)

    items = package.handlers.local_registry(include_global_registry=False)
    items.add(Trees)
    items.add(Trees, checkpointable_name="state")
    options = package.options.CheckpointablesOptions(registry=items)
    return package.Context(checkpointables_options=options)


def plain(value: Any) -> Any:
    """Return a tree with points and words as tuples."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Point):
        return ("point", value.x, value.y)
    if isinstance(value, AbstractPoint):
        return ("abstract point", value.digits)
    return ("words", *value.words) if isinstance(value, Words) else value


def items(package: Any, d: str, note: Record) -> None:
    """Trees with leaves of handlers are items like others."""
    tree = {**state(), "words": Words("b", "a"), "deep": [{"words": Words("c")}]}
    wanted = {**abstract(), "words": AbstractWords, "deep": [{"words": package.PLACEHOLDER}]}
    with context(package):
        save, load = package.save_checkpointables, package.load_checkpointables
        note("save", lambda: save(d + "/a", {"state": tree, "two": {"p": Point(5, 6)}}))
        note("again", lambda: save(d + "/a", {"state": tree}))
        note("load", lambda: plain(load(d + "/a")))
        note("abstract", lambda: plain(load(d + "/a", {"state": wanted})))
        note("simple", lambda: plain(package.load(d + "/a")))
        save_async = package.save_checkpointables_async
        note("async", lambda: save_async(d + "/b", {"state": tree}).result())
        note("loaded", lambda: plain(load(d + "/b")))
        wrong = {**abstract(), "p": [AbstractPoint, {"q": AbstractPoint}, None]}
        with pytest.raises((KeyError, ValueError)):  # Orbax blames its registry
            load(d + "/b", {"state": wrong})
        del tree["words"], tree["deep"]  # the handler of words describes nothing
        note("third", lambda: save(d + "/c", {"state": tree}))
        note("metadata", lambda: plain(package.checkpointables_metadata(d + "/c").metadata))
        note("unknown", lambda: save(d + "/d", {"state": {"x": object()}}))
    note("without", lambda: package.load(d + "/c"))


def test_same(tmp_path: Path) -> None:
    assert differences(items, tmp_path) == []


def options() -> ocp.Context:
    return ocp.Context(pytree_options=ocp.options.PyTreeOptions(leaf_handler_registry=leaves(ocp)))


@pytest.mark.parametrize("ocdbt", [True, False])
@pytest.mark.parametrize("zarr3", [True, False])
def test_orbax_reads_ours(tmp_path: Path, ocdbt: bool, zarr3: bool) -> None:
    theirs = orbax()
    tree = {**state(), "words": Words("a")}
    wanted = {**abstract(), "words": AbstractWords}
    saving = ocp.options.ArrayOptions.Saving(use_ocdbt=ocdbt, use_zarr3=zarr3)
    arrays = ocp.options.ArrayOptions(saving=saving)
    with ocp.Context(options(), array_options=arrays):
        ocp.save(tmp_path / "a", tree)
    with ocp.Context(context(ocp), array_options=arrays):
        ocp.save_checkpointables(tmp_path / "b", {"state": tree})
    with context(theirs):
        for path in (tmp_path / "a", tmp_path / "b"):
            assert same(theirs.load(path), tree)
            got = theirs.load_checkpointables(path, {"state": wanted})["state"]
            assert got["p"] == [Point(1, 0), {"q": Point(3, 400)}] and got["words"] == Words("a")


@pytest.mark.parametrize("ocdbt", [True, False])
def test_ours_reads_orbax(tmp_path: Path, ocdbt: bool) -> None:
    theirs = orbax()
    tree = {**state(), "words": Words("a")}
    saving = theirs.options.ArrayOptions.Saving(use_ocdbt=ocdbt)
    arrays = theirs.options.ArrayOptions(saving=saving)
    with theirs.Context(context(theirs), array_options=arrays):
        theirs.save_checkpointables(tmp_path / "a", {"state": tree})
    for how in (options(), context(ocp)):
        with how:
            assert same(ocp.load(tmp_path / "a"), tree)
            got = ocp.load(tmp_path / "a", {**abstract(), "words": None})
            assert got["p"] == [Point(1, 0), {"q": Point(3, 400)}]
            items = ocp.load_checkpointables(tmp_path / "a")
            assert same(items["state"], tree)
    with options():
        described = ocp.metadata(tmp_path / "a").metadata
        assert described["p"] == [AbstractPoint(2), {"q": AbstractPoint(3)}]
    with pytest.raises(ValueError, match="leaf_points.PointHandler"):
        ocp.load(tmp_path / "a")
    rest = ocp.load(tmp_path / "a", {**tree, "p": [..., {"q": ...}], "words": ...})
    assert np.array_equal(rest["w"], tree["w"])


def test_a_registry_of_orbax(tmp_path: Path) -> None:
    """A registry that was made with Orbax works; its own handlers stand for the server."""
    theirs = leaves(orbax())
    tree = ocp.options.PyTreeOptions(leaf_handler_registry=theirs)
    with ocp.Context(pytree_options=tree):
        ocp.save(tmp_path / "a", {**state(), "words": Words("a")})
        got = ocp.load(tmp_path / "a", {**abstract(), "words": AbstractWords()})
        assert got["p"] == [Point(1, 0), {"q": Point(3, 400)}] and got["words"] == Words("a")
        assert ocp.metadata(tmp_path / "a").metadata["p"][0] == AbstractPoint(2)
