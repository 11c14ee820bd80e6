"""Leaf handlers: leaves of types of their own, in saves, loads and descriptions."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac.checkpoint as ocp
from bivouac import errors
from bivouac.checkpoint import serialization
from conftest import eventually
from leaf_points import (
    AbstractPoint,
    AbstractWords,
    Point,
    PointHandler,
    Slow,
    Words,
    WordsHandler,
    abstract,
    same,
    state,
)

pytestmark = pytest.mark.usefixtures("sidecar")


def registry(handler: type[Any] = PointHandler, **arguments: Any) -> Any:
    made = serialization.StandardLeafHandlerRegistry()
    made.add(Point, AbstractPoint, handler, **arguments)
    made.add(Words, AbstractWords, WordsHandler)
    return made


def using(leaves: Any) -> ocp.Context:
    return ocp.Context(pytree_options=ocp.options.PyTreeOptions(leaf_handler_registry=leaves))


def private() -> list[str]:
    """Return the private directories that exist."""
    return os.listdir(tempfile.gettempdir())


@pytest.fixture(autouse=True)
def nothing_left(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Check that no private directory is left."""
    directory = str(tmp_path_factory.mktemp("private"))
    monkeypatch.setenv("TMPDIR", directory)
    monkeypatch.setattr(tempfile, "tempdir", directory)
    Slow.gate, Slow.fails, Slow.seen = threading.Event(), "", []
    yield
    assert eventually(lambda: not private()), private()


def test_leaves_come_back(tmp_path: Path) -> None:
    tree = {**state(), "words": Words("a", "b"), "more": (Words("c"),)}
    with using(registry()):
        ocp.save(tmp_path / "a", tree)
        got = ocp.load(tmp_path / "a")
        assert same(got, {**tree, "more": [Words("c")]})
        wanted = {**abstract(), "words": AbstractWords(), "more": (ocp.PLACEHOLDER,)}
        got = ocp.load(tmp_path / "a", wanted)
    assert got["p"] == [Point(1, 0), {"q": Point(3, 400)}]
    assert got["words"] == Words("a", "b") and got["more"] == (ocp.PLACEHOLDER,)
    assert sorted(p.name for p in (tmp_path / "a" / "state" / "points").iterdir()) == [
        "p.0.json",
        "p.1.q.json",
    ]


def test_wishes(tmp_path: Path) -> None:
    """What stands in an abstract tree for a leaf of a handler."""
    with using(registry()):
        ocp.save(tmp_path / "a", {"p": Point(12, 3), "w": np.zeros(2)})
        for wish, point in {
            None: Point(12, 3),
            Point: Point(12, 3),
            AbstractPoint: Point(12, 3),
            ocp.PLACEHOLDER: ocp.PLACEHOLDER,
        }.items():
            assert ocp.load(tmp_path / "a", {"p": wish, "w": None})["p"] == point, wish
        assert ocp.load(tmp_path / "a", {"p": Point(0, 0), "w": ...})["p"] == Point(12, 3)
        assert ocp.load(tmp_path / "a", {"p": AbstractPoint(1), "w": ...})["p"] == Point(2, 3)
        for wish in (7, int, np.zeros(3), Words("a"), AbstractWords(), {"x": 0, "y": 0}, [None]):
            with pytest.raises(errors.Mismatch, match="p: mismatch.*leaf_points.PointHandler"):
                ocp.load(tmp_path / "a", {"p": wish, "w": None})
        for wish in (Point(0, 0), AbstractPoint(), AbstractWords()):
            with pytest.raises(errors.Mismatch, match="w: mismatch.*describes"):
                ocp.load(tmp_path / "a", {"p": None, "w": wish})
        with pytest.raises(errors.Mismatch):
            ocp.load(tmp_path / "a", {"p": None, "w": None, "more": AbstractPoint()})
        partial = ocp.options.PyTreeOptions(
            leaf_handler_registry=registry(),
            loading=ocp.options.PyTreeOptions.Loading(partial_load=True),
        )
        with ocp.Context(pytree_options=partial):
            assert ocp.load(tmp_path / "a", {"p": None}) == {"p": Point(12, 3)}


def test_load_into(tmp_path: Path) -> None:
    with using(registry()):
        ocp.save(tmp_path / "a", state())
        target = {**state(), "w": np.full((2, 3), 9, np.float32)}
        target["p"] = [Point(0, 0), {"q": AbstractPoint(1)}]
        w, points = target["w"], target["p"]
        got = ocp.load(tmp_path / "a", into=target)
        assert got is target and got["w"] is w and got["p"] is points
        assert got["p"] == [Point(1, 20), {"q": Point(3, 0)}] and w[1, 2] == 5
        with pytest.raises(errors.Mismatch, match="w: mismatch"):
            ocp.load(tmp_path / "a", into={**state(), "w": Point(0, 0)})


def test_metadata(tmp_path: Path) -> None:
    with using(registry()):
        ocp.save(tmp_path / "a", {**state(), "words": Words("a")})
        found = ocp.metadata(tmp_path / "a")
        assert found.metadata["p"] == [AbstractPoint(2), {"q": AbstractPoint(3)}]
        assert found.metadata["s"] == "string" and found.metadata["w"].shape == (2, 3)
        # This handler describes nothing.
        assert found.metadata["words"].value_type == "leaf_points.WordsHandler"
        items = ocp.checkpointables_metadata(tmp_path / "a").metadata
        assert items["state"]["p"][1] == {"q": AbstractPoint(3)}
        assert same(ocp.load(tmp_path / "a", found), {**state(), "words": Words("a")})
    found = ocp.metadata(tmp_path / "a")
    assert found.metadata["p"][0].value_type == "leaf_points.PointHandler"
    with using(registry()):
        assert ocp.load(tmp_path / "a", found)["p"][0] == Point(1, 20)


def test_files_are_in_the_manifest(tmp_path: Path) -> None:
    with using(registry()):
        ocp.save(tmp_path / "a", state())
    assert ocp.verify(tmp_path / "a").sound
    file = tmp_path / "a" / "state" / "points" / "p.1.q.json"
    data = bytearray(file.read_bytes())
    data[3] ^= 1
    file.write_bytes(data)
    verdict = ocp.verify(tmp_path / "a")
    assert not verdict.sound and "p.1.q.json" in verdict.text
    with using(registry()), pytest.raises(errors.Corrupt, match="p.1.q.json"):
        ocp.load(tmp_path / "a")
    file.unlink()
    assert not ocp.verify(tmp_path / "a").sound


def test_saves_in_the_background(tmp_path: Path) -> None:
    """The second phase runs in the background; the commit waits for it."""
    tree = state()
    with using(registry(Slow)):
        response = ocp.save_async(tmp_path / "a", tree)
        tree["w"][:] = -1
        tree["p"][0].x = -1
        with pytest.raises(TimeoutError):
            response.result(timeout=0.1)
        assert not response.done() and not (tmp_path / "a").exists()
        Slow.gate.set()
        response.result()
        assert same(ocp.load(tmp_path / "a"), state())
    (directory, thread) = Slow.seen
    assert thread == "bivouac-leaves" and not directory.exists()


@pytest.mark.parametrize("phase", ["first", "second"])
def test_a_handler_fails(tmp_path: Path, phase: str) -> None:
    """The caller gets the handler's exception with its traceback, and nothing is saved."""
    Slow.fails = phase
    Slow.gate.set()
    with using(registry(Slow)):
        with pytest.raises(LookupError, match=f"no room in the {phase} phase") as caught:
            ocp.save(tmp_path / "a", state())
        text = "".join(traceback.format_exception(caught.value))
        assert "leaf_points.py" in text and "raise LookupError" in text
        if hasattr(caught.value, "__notes__"):
            assert "leaf handler leaf_points.Slow of leaf 'p.0', 'p.1.q'" in text
        with pytest.raises(LookupError):
            response = ocp.save_async(tmp_path / "b", state())
            assert phase == "second"
            response.result()
        assert os.listdir(tmp_path) == []
        Slow.fails = ""
        ocp.save(tmp_path / "a", state())
        assert same(ocp.load(tmp_path / "a"), state())


class Wrong(PointHandler):
    """Reads wrongly."""

    how = ""

    async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
        if self.how == "raise":
            raise LookupError("cannot read")
        second = await super().deserialize(params, deserialization_context)

        async def fewer() -> Any:
            return (await second)[1:]

        return fewer()

    async def metadata(self, params: Any, deserialization_context: Any) -> Any:
        raise LookupError("cannot describe")


def test_a_handler_fails_to_read(tmp_path: Path) -> None:
    with using(registry(Wrong)):
        ocp.save(tmp_path / "a", state())
        with pytest.raises(errors.Mismatch, match="2 values, got 1"):
            ocp.load(tmp_path / "a")
        with pytest.raises(LookupError, match="cannot describe"):
            ocp.metadata(tmp_path / "a")
        Wrong.how = "raise"
        with pytest.raises(LookupError, match="cannot read"):
            ocp.load(tmp_path / "a", abstract())


def test_a_handler_that_is_missing(tmp_path: Path) -> None:
    """The error names the leaf, its type string and the remedy. The rest can be loaded."""
    with using(registry()):
        ocp.save(tmp_path / "a", state())
    for context in (ocp.Context(), using(serialization.StandardLeafHandlerRegistry())):
        with context, pytest.raises(errors.Unsupported) as caught:
            ocp.load(tmp_path / "a")
        for part in ('"p.0"', "leaf_points.PointHandler", "leaf_handler_registry of PyTreeOptions"):
            assert part in str(caught.value)
        with context:
            rest = ocp.load(tmp_path / "a", {**state(), "p": [..., {"q": ...}]})
        assert rest["p"] == [..., {"q": ...}] and same(rest["w"], state()["w"])
    with using(registry(Slow)), pytest.raises(errors.Unsupported, match="leaf_points.PointHandler"):
        ocp.load(tmp_path / "a", abstract())


def test_types_without_a_handler(tmp_path: Path) -> None:
    bare = serialization.BaseLeafHandlerRegistry()
    bare.add(Point, AbstractPoint, PointHandler)
    with using(bare):
        with pytest.raises(ocp.errors.UnregisteredTypeError, match="w: .*numpy.ndarray"):
            ocp.save(tmp_path / "a", {"p": Point(1, 2), "w": np.zeros(3)})
        ocp.save(tmp_path / "a", {"p": Point(1, 2)})
        assert ocp.load(tmp_path / "a") == {"p": Point(1, 2)}
    with using(registry()), pytest.raises(ValueError, match="leaf handler"):
        ocp.save(tmp_path / "b", {"x": object()})
    assert os.listdir(tmp_path) == ["a"]


def test_other_type_strings(tmp_path: Path) -> None:
    """A handler that was renamed loads what it saved under its old names."""
    with using(registry()):
        ocp.save(tmp_path / "old", state())
    with using(registry(secondary_typestrs=["example.Point", "leaf_points.PointHandler"])):
        ocp.save(tmp_path / "new", state())
        assert same(ocp.load(tmp_path / "old"), state())
        assert same(ocp.load(tmp_path / "new"), state())
    assert "example.Point" in (tmp_path / "new" / "state" / "_METADATA").read_text()
    with using(registry()), pytest.raises(errors.Unsupported, match="example.Point"):
        ocp.load(tmp_path / "new")
    for text in ("Point", "np.ndarray"):
        with using(registry(secondary_typestrs=[text])):
            with pytest.raises(errors.Invalid, match=f"type string '{text}'"):
                ocp.save(tmp_path / "bad", state())


def test_registries() -> None:
    made = registry()
    assert made.get(Point) is PointHandler and made.get_abstract(AbstractPoint) is PointHandler
    assert made.is_handleable(np.ndarray) and not made.is_handleable(set)
    assert made.is_abstract_handleable(np.ndarray) and not made.is_abstract_handleable(set)
    with pytest.raises(ocp.errors.UnregisteredTypeError, match="builtins|set"):
        made.get(set)
    with pytest.raises(ocp.errors.UnregisteredTypeError):
        made.get_abstract(set)
    with pytest.raises(ocp.errors.AlreadyRegisteredTypeError, match="Point.*PointHandler"):
        made.add(Point, AbstractPoint, Slow)
    with pytest.raises(ValueError, match="AbstractPoint"):
        made.add(set, AbstractPoint, Slow)
    made.add(Point, AbstractPoint, PointHandler)  # again is no mistake
    made.add(Point, AbstractPoint, Slow, override=True, secondary_typestrs=["a.B"])
    assert made.get(Point) is Slow and made.get_secondary_typestrs(Slow) == ["a.B"]
    assert made.get_secondary_typestrs(PointHandler) == []
    assert (Point, AbstractPoint, Slow) in made.get_all()
    with pytest.raises(errors.Invalid, match="handler"):
        made.add(Point, AbstractPoint, Slow())  # type: ignore[arg-type]
    assert isinstance(made, serialization.LeafHandlerRegistry)
    assert isinstance(PointHandler(), serialization.LeafHandler)
    assert serialization.typestr(PointHandler) == "leaf_points.PointHandler"
    with pytest.raises(errors.Invalid, match="leaf_handler_registry"):
        ocp.options.PyTreeOptions(leaf_handler_registry=7)  # type: ignore[arg-type]
    with pytest.raises(errors.Unsupported, match="leave arrays"):
        asyncio.run(made.get(np.ndarray)().serialize([], None))


def test_the_most_specific_entry_counts(tmp_path: Path) -> None:
    class Special(Point):
        pass

    class SpecialHandler(PointHandler):
        async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
            points = await (await super().deserialize(params, deserialization_context))
            made = [Special(p.x, p.y) for p in points]

            async def read() -> Any:
                return made

            return read()

    class AbstractSpecial(AbstractPoint):
        pass

    leaves = serialization.StandardLeafHandlerRegistry()
    leaves.add(Special, AbstractSpecial, SpecialHandler)
    leaves.add(Point, AbstractPoint, PointHandler)
    with using(leaves):
        ocp.save(tmp_path / "a", {"a": Special(1, 2), "b": Point(1, 2)})
        got = ocp.load(tmp_path / "a", {"a": AbstractSpecial(), "b": AbstractPoint()})
        assert (type(got["a"]), type(got["b"])) == (Special, Point)
        with pytest.raises(errors.Mismatch, match="a: mismatch"):
            ocp.load(tmp_path / "a", {"a": AbstractPoint(), "b": None})


def test_files_of_the_tree_are_not_written(tmp_path: Path) -> None:
    class Bad(PointHandler):
        name = ""

        async def serialize(self, params: Any, serialization_context: Any) -> Any:
            async def write() -> None:
                there = await serialization_context.parent_dir.await_creation()
                (there / self.name).parent.mkdir(exist_ok=True)
                (there / self.name).write_text("{}")

            return write()

    with using(registry(Bad)):
        for Bad.name in ("_METADATA", "d/x", "manifest.ocdbt", "_strings.json"):
            with pytest.raises(errors.Invalid):
                ocp.save(tmp_path / "a", state())
    assert os.listdir(tmp_path) == []


def test_handlers_get_the_context(tmp_path: Path) -> None:
    got = []

    class Asks(PointHandler):
        async def serialize(self, params: Any, serialization_context: Any) -> Any:
            limit = serialization_context.byte_limiter
            await limit.wait_for_bytes(3)
            await limit.release_bytes(3)
            got.append((self.context.memory.write_concurrent_bytes, limit))
            return await super().serialize(params, serialization_context)

        async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
            c = deserialization_context
            got.append((c.ocdbt_checkpoint, c.zarr3_checkpoint, c.ts_context))
            return await super().deserialize(params, deserialization_context)

    class NoContext(PointHandler):
        def __init__(self) -> None:
            super().__init__()

    saving = ocp.options.ArrayOptions.Saving(use_ocdbt=False, use_zarr3=False)
    with ocp.Context(
        using(registry(Asks)),
        memory_options=ocp.options.MemoryOptions(write_concurrent_bytes=5),
        array_options=ocp.options.ArrayOptions(saving=saving),
    ):
        ocp.save(tmp_path / "a", state())
        assert same(ocp.load(tmp_path / "a"), state())
    assert got[0][0] == 5 and got[1] == (False, False, None)
    with using(registry(NoContext)), pytest.raises(errors.Invalid, match="argument context"):
        ocp.save(tmp_path / "b", state())


def test_byte_limits() -> None:
    async def scene() -> list[str]:
        limit, said = serialization.ByteLimiter(10), []

        async def take(name: str, n: int) -> None:
            await limit.wait_for_bytes(n)
            said.append(f"{name} has {n}")
            await asyncio.sleep(0.01)
            said.append(f"{name} ends")
            await limit.release_bytes(n)

        await asyncio.gather(take("a", 6), take("b", 4), take("c", 20))
        return said

    assert asyncio.run(scene())[-3:] == ["b ends", "c has 20", "c ends"]


def test_several_items(tmp_path: Path) -> None:
    with using(registry()):
        items = {"one": state(), "two": {"w": Words("x"), "p": Point(5, 6)}}
        ocp.save_checkpointables(tmp_path / "a", items)
        got = ocp.load_checkpointables(tmp_path / "a")
        assert same(got["one"], state()) and got["two"] == {"w": Words("x"), "p": Point(5, 6)}
        wanted = {"two": {"w": AbstractWords, "p": AbstractPoint(1)}}
        assert ocp.load_checkpointables(tmp_path / "a", wanted) == {"two": items["two"]}
        assert ocp.load(tmp_path / "a", checkpointable_name="two") == items["two"]
        assert ocp.checkpointables_metadata(tmp_path / "a").metadata["two"]["p"] == AbstractPoint(1)


def test_parts(tmp_path: Path) -> None:
    """Parts add leaves of a handler that names its files after leaves."""
    with using(registry()):
        ocp.partial.save(tmp_path / "a", {"p": Point(1, 2), "w": np.zeros(3)})
        ocp.partial.save_async(tmp_path / "a", {"q": Point(3, 4)}).result()
        with pytest.raises(FileExistsError):
            ocp.partial.save(tmp_path / "a", {"q": Point(5, 6)})
        ocp.partial.save(tmp_path / "a", {"words": Words("a")})
        with pytest.raises(FileExistsError, match="words.json"):
            ocp.partial.save(tmp_path / "a", {"other": Words("b")})
        ocp.partial.finalize(tmp_path / "a")
        got = ocp.load(tmp_path / "a")
        assert (got["p"], got["q"], got["words"]) == (Point(1, 2), Point(3, 4), Words("a"))
        ocp.save(tmp_path / "a", {"r": Point(7, 8)}, partial_update=True)
        assert ocp.load(tmp_path / "a")["r"] == Point(7, 8) and ocp.verify(tmp_path / "a").sound
        ocp.save(tmp_path / "a", {"p": Point(9, 9)}, overwrite=True)
        assert ocp.load(tmp_path / "a") == {"p": Point(9, 9)}
        assert ocp.verify(tmp_path / "a").sound


@pytest.mark.filterwarnings("ignore:coroutine.*was never awaited")  # of a save that is not wanted
def test_runs(tmp_path: Path) -> None:
    """A checkpointer saves, loads and describes steps with leaves of handlers."""
    decide = ocp.training.save_decision_policies.FixedIntervalPolicy(2)
    with using(registry(Slow)):
        run = ocp.training.Checkpointer(tmp_path / "run", save_decision_policy=decide)
        Slow.gate.set()
        assert run.save(0, state())
        response = run.save_async(2, {**state(), "p": [Point(5, 5), {"q": Point(6, 6)}]})
        assert response is not None and response.result()
        assert run.save_async(3, state()) is None  # the policy does not want it
        assert run.load()["p"] == [Point(5, 5), {"q": Point(6, 6)}]
        assert same(run.load(0), state())
        assert run.load(0, abstract())["p"][0] == Point(1, 0)
        assert run.metadata(0).metadata["p"][0] == AbstractPoint(2)
        got = run.load_checkpointables(0, {"state": abstract()})
        assert got["state"]["p"][0] == Point(1, 0)
        assert run.checkpointables_metadata(0).metadata["state"]["p"][0] == AbstractPoint(2)
        Slow.fails = "second"
        with pytest.raises(LookupError):
            run.save(4, state())
        assert [c.step for c in run.checkpoints] == [0, 2]
        with pytest.raises(errors.BivouacError, match="no room in the second phase"):
            run.close()


def test_transforms_move_leaves(tmp_path: Path) -> None:
    with using(registry()):
        ocp.save(tmp_path / "a", state())
        ocp.save(tmp_path / "b", {"p": Point(8, 9), "words": Words("x")})

        def move(a: Any, b: Any) -> Any:
            return {"moved": a["p"][1]["q"], "twice": a["p"][1]["q"], "b": b["p"], "w": a["w"]}

        got = ocp.load_and_transform([tmp_path / "a", tmp_path / "b"], move)
        assert (got["moved"], got["twice"], got["b"]) == (Point(3, 400), Point(3, 400), Point(8, 9))
        wanted = {"moved": AbstractPoint(1), "twice": None, "b": AbstractPoint, "w": ...}
        got = ocp.load_and_transform([tmp_path / "a", tmp_path / "b"], move, wanted)
        assert got["moved"] == Point(3, 0) and got["w"] is ocp.PLACEHOLDER


def test_the_tree_handler_has_leaf_handlers(tmp_path: Path) -> None:
    """Orbax 0.12.8 takes a registry of leaf handlers only here."""

    class Trees(ocp.handlers.PyTreeHandler):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(leaf_handler_registry=registry(), **arguments)

    items = ocp.handlers.local_registry(include_global_registry=False)
    items.add(Trees)
    items.add(Trees, checkpointable_name="state")
    options = ocp.options.CheckpointablesOptions(registry=items)
    with ocp.Context(checkpointables_options=options):
        ocp.save_checkpointables(tmp_path / "a", {"state": state(), "other": {"p": Point(1, 1)}})
        got = ocp.load_checkpointables(tmp_path / "a")
        assert same(got["state"], state()) and got["other"] == {"p": Point(1, 1)}
        assert same(ocp.load(tmp_path / "a"), state())
        assert ocp.load(tmp_path / "a", abstract())["p"][0] == Point(1, 0)
        described = ocp.checkpointables_metadata(tmp_path / "a").metadata
        assert described["other"] == {"p": AbstractPoint(1)}
        response = ocp.save_checkpointables_async(tmp_path / "b", {"state": state()})
        response.result()
        assert ocp.verify(tmp_path / "b").sound
    plain = ocp.handlers.PyTreeHandler(leaf_handler_registry=registry())
    assert plain.is_handleable({"p": Point(1, 2)}) and not plain.is_handleable({"p": object()})
    assert plain.is_abstract_handleable({"p": AbstractPoint})
    with pytest.raises(ocp.errors.UnregisteredTypeError, match="leaf_handler_registry"):
        plain.validate_leaves_handleable({"p": object()})


def test_in_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> Any:
        with using(registry(Slow)):
            Slow.gate.set()
            ocp.save(tmp_path / "a", state())
            Slow.fails = "first"
            with pytest.raises(LookupError):
                ocp.save(tmp_path / "b", state())
            return ocp.load(tmp_path / "a")

    assert same(asyncio.run(notebook()), state())


def test_an_interrupt_ends_the_handler(tmp_path: Path) -> None:
    with using(registry(Slow)):
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            ocp.save(tmp_path / "a", state())
        timer.join()
    assert eventually(lambda: "cancelled" in Slow.seen and not private())
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:coroutine.*was never awaited")
def test_a_save_that_is_refused_or_cancelled(tmp_path: Path) -> None:
    with using(registry(Slow)):
        run = ocp.training.Checkpointer(tmp_path / "run")
        Slow.gate.set()
        run.save(1, state())
        Slow.gate.clear()
        with pytest.raises(FileExistsError):
            run.save(1, state(), force=True)
        response = run.save_async(2, state())
        run.cancel(2)
        assert response is not None
        with pytest.raises(errors.Canceled):
            response.result()
        assert [c.step for c in run.checkpoints] == [1]
        with pytest.raises(errors.Canceled):
            run.close()
    assert eventually(lambda: "cancelled" in Slow.seen and not private())


def test_leaves_may_look_like_arrays_and_containers(tmp_path: Path) -> None:
    """A leaf with a shape and a dtype, or with fields, belongs to its handler."""

    class Quantized:
        def __init__(self, x: int, y: int) -> None:
            self.x, self.y, self.shape, self.dtype = x, y, (2,), np.dtype(np.int8)

    class Handler(PointHandler):
        async def serialize(self, params: Any, serialization_context: Any) -> Any:
            made = [type(p)(p.keypath, Point(p.value.x, p.value.y)) for p in params]
            return await super().serialize(made, serialization_context)

    calls = []

    def storage(keypath: Any, value: Any) -> Any:
        calls.append((len(keypath), type(value)))

    leaves = serialization.StandardLeafHandlerRegistry()
    leaves.add(Quantized, ocp.arrays.ShapeDtypeStruct, Handler)
    saving = ocp.options.ArrayOptions.Saving(scoped_storage_options_creator=storage)
    arrays = ocp.options.ArrayOptions(saving=saving)
    with ocp.Context(using(leaves), array_options=arrays):
        ocp.save(tmp_path / "a", {"q": Quantized(1, 2), "w": np.zeros(3)})
        struct = ocp.arrays.ShapeDtypeStruct((3,), np.float32)
        got = ocp.load(tmp_path / "a", {"q": struct, "w": struct})
    assert calls == [(1, np.ndarray)]
    assert got["q"] == Point(1, 2) and got["w"].dtype == np.float32
