"""The same program, with Orbax and with Bivouac, has the same results and errors."""

from __future__ import annotations

import collections
import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from both import Program, Record, differences

pytestmark = pytest.mark.usefixtures("sidecar")

Pair = collections.namedtuple("Pair", "x y")


def state() -> dict[str, Any]:
    return {
        "a": np.arange(4, dtype=np.int32),
        "b": {"c": 1.5, "s": "x", "n": None, "i": 7, "t": True},
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "l": [np.array([1, 2], np.float16), {}, []],
    }


def whole(d: str) -> list[str]:
    """Return the entries of a directory, without what a failed save of Orbax leaves."""
    return sorted(n for n in os.listdir(d) if "orbax-checkpoint-tmp" not in n)


def trees(ocp: Any, d: str, note: Record) -> None:
    """Trees are saved, loaded and described."""
    note("save", lambda: ocp.save(d + "/a", state(), custom_metadata={"k": [1, None]}))
    note("load", lambda: ocp.load(d + "/a"))
    note("again", lambda: ocp.save(d + "/a", state()))
    note("overwrite", lambda: ocp.save(d + "/a", {"v": 1}, overwrite=True))
    note("overwritten", lambda: ocp.load(d + "/a"))
    note("async", lambda: ocp.save_async(d + "/b", state()).result())
    note("async again", lambda: ocp.save_async(d + "/b", state()).result())
    note("named", lambda: ocp.save(d + "/c", state(), checkpointable_name="model"))
    note("named, auto", lambda: ocp.load(d + "/c")["b"])
    note("named, by name", lambda: ocp.load(d + "/c", checkpointable_name="model")["b"])
    note("other name", lambda: ocp.load(d + "/c", checkpointable_name="other"))
    note("empty name", lambda: ocp.load(d + "/c", checkpointable_name=""))
    note("missing parents", lambda: ocp.save(d + "/x/y/z", {"v": 2}))
    # Orbax has no metadata for a tree with a bool.
    ocp.save(d + "/m", {**state(), "b": {"c": 1.5, "s": "x", "n": None, "i": 7}})
    note("metadata", lambda: ocp.metadata(d + "/m").metadata)
    note("custom", lambda: ocp.metadata(d + "/a").custom_metadata)
    note("no custom", lambda: ocp.metadata(d + "/b").custom_metadata)
    note("by metadata", lambda: ocp.load(d + "/b", ocp.metadata(d + "/b")))
    note("by its tree", lambda: ocp.load(d + "/b", ocp.metadata(d + "/b").metadata))
    note("path", lambda: str(ocp.metadata(d + "/b").path)[len(d) :])
    note("is", lambda: [ocp.is_orbax_checkpoint(d + p) for p in ("/a", "/b", "", "/none")])
    note("delete", lambda: ocp.delete(d + "/b"))
    note("delete again", lambda: ocp.delete(d + "/b"))
    note("delete missing", lambda: ocp.delete(d + "/b", missing_ok=True))
    note("delete no checkpoint", lambda: ocp.delete(d))
    note("delete async", lambda: ocp.delete_async(d + "/c").result())
    note("left", lambda: sorted(os.listdir(d)))
    note("old names", lambda: ocp.save_pytree(d + "/o", {"v": 3}))
    note("old names, load", lambda: ocp.load_pytree(d + "/o"))
    note("old names, metadata", lambda: ocp.pytree_metadata(d + "/o").metadata)


def wrong_saves(ocp: Any, d: str, note: Record) -> None:
    """Saves that make no sense raise the same built-in errors."""
    note("None", lambda: ocp.save(d + "/a", None))
    note("empty", lambda: ocp.save(d + "/b", {}))
    note("empty list", lambda: ocp.save(d + "/c", []))
    note("object", lambda: ocp.save(d + "/d", {"a": object()}))
    note("set inside", lambda: ocp.save(d + "/e", {"a": object(), "b": 1}))
    note("large int", lambda: ocp.save(d + "/f", {"a": 2**64}))
    note("tilde", lambda: ocp.save(d + "/g", {"a~b": "s"}))
    note("custom", lambda: ocp.save(d + "/i", {"a": 1}, custom_metadata={"a": object()}))
    note("items empty", lambda: ocp.save_checkpointables(d + "/j", {}))
    note("items metrics", lambda: ocp.save_checkpointables(d + "/k", {"metrics": {"a": 1}}))
    note("items no name", lambda: ocp.save_checkpointables(d + "/l", {"": {"a": 1}}))
    note("items object", lambda: ocp.save_checkpointables(d + "/m", {"x": object()}))
    note("items None", lambda: ocp.save_checkpointables(d + "/n", {"x": None}))
    os.mkdir(d + "/plain")
    note("directory", lambda: ocp.save(d + "/plain", {"a": 1}))
    note("left", lambda: whole(d))


def wrong_loads(ocp: Any, d: str, note: Record) -> None:
    """Loads that make no sense raise the same built-in errors."""
    ocp.save(d + "/a", state())
    note("nothing", lambda: ocp.load(d + "/nothing"))
    note("root", lambda: ocp.load(d))
    note("file", lambda: ocp.load(d + "/a/_CHECKPOINT_METADATA"))
    note("missing key", lambda: ocp.load(d + "/a", {"a": np.zeros(4, np.int32)}))
    note("extra key", lambda: ocp.load(d + "/a", {**state(), "zz": np.zeros(1)}))
    note("other kind", lambda: ocp.load(d + "/a", [1, 2]))
    note("unsupported", lambda: ocp.load(d + "/a", {**state(), "a": object()}))
    note("array as int", lambda: ocp.load(d + "/a", {**state(), "a": int}))
    note(
        "string as array",
        lambda: ocp.load(d + "/a", {**state(), "b": {**state()["b"], "s": np.zeros(1)}}),
    )
    note("metadata", lambda: ocp.metadata(d + "/nothing"))
    note("metadata of items", lambda: ocp.checkpointables_metadata(d + "/nothing"))
    note("item", lambda: ocp.load_checkpointables(d + "/a", {"zz": None}))
    note("items of nothing", lambda: ocp.load_checkpointables(d + "/nothing"))


def abstract_trees(ocp: Any, d: str, note: Record) -> None:
    """Abstract trees say what is loaded, and as which type."""
    ocp.save(d + "/a", {"w": np.arange(4, dtype=np.float32), "i": np.arange(3), "f": 2.5, "s": "x"})
    types = {"w": np.ndarray, "i": np.ndarray, "f": float, "s": str}
    note("types", lambda: ocp.load(d + "/a", types))
    note("placeholder", lambda: ocp.load(d + "/a", {**types, "w": ocp.PLACEHOLDER})["i"])
    note("cast", lambda: ocp.load(d + "/a", {**types, "w": np.zeros(4, np.float64)}))
    note("values", lambda: ocp.load(d + "/a", {**types, "f": 0.0, "s": ""}))
    ctx = ocp.Context()
    ctx.pytree.loading.partial_load = True
    with ctx:
        note("partial", lambda: ocp.load(d + "/a", {"w": np.ndarray}))
    ocp.save(d + "/t", {"p": (1, 2.5), "n": Pair(np.zeros(2), 3), "k": {1: 2, 3: 4}})
    note("plain containers", lambda: ocp.load(d + "/t"))
    note(
        "containers",
        lambda: ocp.load(
            d + "/t", {"p": (int, float), "n": Pair(np.ndarray, int), "k": {1: int, 3: int}}
        ),
    )


def items(ocp: Any, d: str, note: Record) -> None:
    """Items are saved with their handlers."""
    registry = ocp.handlers.local_registry()
    registry.add(ocp.handlers.JsonHandler, checkpointable_name="config")
    both = {"state": {"a": np.zeros(2), "i": 1}, "config": {"lr": 0.1, "tags": ["a", None]}}
    options = ocp.options.CheckpointablesOptions(registry=registry)
    with ocp.Context(checkpointables_options=options):
        note("save", lambda: ocp.save_checkpointables(d + "/a", both, custom_metadata={"k": 1}))
        note("load", lambda: ocp.load_checkpointables(d + "/a"))
        note("one", lambda: ocp.load_checkpointables(d + "/a", {"config": None}))
        note("metadata", lambda: ocp.checkpointables_metadata(d + "/a").metadata)
    note("without registry", lambda: ocp.load_checkpointables(d + "/a"))
    note("state", lambda: ocp.load(d + "/a"))
    note("json as tree", lambda: ocp.save_checkpointables(d + "/b", {"x": {"a": 1, "b": "s"}}))
    note("json as tree, load", lambda: ocp.load_checkpointables(d + "/b"))
    note(
        "files", lambda: sorted(os.listdir(d + "/a")) and os.path.exists(d + "/a/config/data.json")
    )
    note("delete item", lambda: ocp.delete(d + "/a", checkpointable_name="config"))
    note("deleted", lambda: sorted(ocp.load_checkpointables(d + "/a")))
    note("delete last", lambda: ocp.delete(d + "/a", checkpointable_name="state"))
    note("delete unknown", lambda: ocp.delete(d + "/a", checkpointable_name="zz"))
    note("async", lambda: ocp.save_checkpointables_async(d + "/c", {"x": {"a": 1}}).result())


class Point:
    """A value of a handler of its own."""

    def __init__(self, x: int) -> None:
        self.x = x


class PointHandler:
    """It writes one file."""

    async def save(self, directory: Any, checkpointable: Point) -> Any:
        x = checkpointable.x

        async def write() -> None:
            there = await directory.await_creation()
            (there / "x").write_text(str(x))
            (there / "more").mkdir()
            (there / "more" / "y").write_text("y")

        return write()

    async def load(self, directory: Any, abstract_checkpointable: Any = None) -> Any:
        async def read() -> Point:
            assert (directory / "more" / "y").read_text() == "y"
            return Point(int((directory / "x").read_text()))

        return read()

    async def metadata(self, directory: Any) -> Any:
        return {"x": int((directory / "x").read_text())}

    def is_handleable(self, checkpointable: Any) -> bool:
        return isinstance(checkpointable, Point)

    def is_abstract_handleable(self, abstract_checkpointable: Any) -> bool | None:
        return isinstance(abstract_checkpointable, Point)


class Iterator:
    """An object that saves itself."""

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


def own_handlers(ocp: Any, d: str, note: Record) -> None:
    """Handlers and objects of the user save and load in this process."""
    registry = ocp.handlers.local_registry()
    registry.add(PointHandler)
    options = ocp.options.CheckpointablesOptions(registry=registry)
    with ocp.Context(checkpointables_options=options):
        both = {"p": Point(3), "state": {"a": np.zeros(2)}}
        note("save", lambda: ocp.save_checkpointables(d + "/a", both))
        note("load", lambda: ocp.load_checkpointables(d + "/a")["p"].x)
        note("one", lambda: ocp.load_checkpointables(d + "/a", {"p": Point(0)})["p"].x)
        note("metadata", lambda: ocp.checkpointables_metadata(d + "/a").metadata["p"])
    note("unknown handler", lambda: ocp.load_checkpointables(d + "/a", {"p": None}))
    note("the others", lambda: ocp.load_checkpointables(d + "/a", {"state": None}))
    note("stateful", lambda: ocp.save_checkpointables(d + "/b", {"it": Iterator(7), "s": {"a": 1}}))
    target = Iterator(0)
    loaded = note("stateful load", lambda: ocp.load_checkpointables(d + "/b", {"it": target}))
    note("same object", lambda: (loaded["it"] is target, target.n))
    note("stateful without object", lambda: ocp.load_checkpointables(d + "/b", {"it": None}))
    note("stateful metadata", lambda: ocp.checkpointables_metadata(d + "/b").metadata["it"])


def contexts(ocp: Any, d: str, note: Record) -> None:
    """Contexts are inherited, copied, and fixed while they are active."""
    o = ocp.options
    ctx = ocp.Context()
    ctx.array.saving.use_zarr3 = False
    note("set", lambda: ctx.array.saving.use_zarr3)
    note("set group", lambda: setattr(ctx, "array", o.ArrayOptions()))
    note("layout by name", lambda: setattr(ctx, "checkpoint_layout", "auto"))
    note("layout", lambda: ctx.checkpoint_layout.value)
    note("wrong layout", lambda: setattr(ctx, "checkpoint_layout", "zz"))
    ctx.checkpoint_layout = "orbax"
    given = o.AsyncOptions(timeout_secs=5)
    child = ocp.Context(ctx, async_options=given)
    given.timeout_secs = 6
    note("child", lambda: (child.array.saving.use_zarr3, child.asynchronous.timeout_secs))
    with ctx:
        note("active", lambda: setattr(ctx.array.saving, "use_zarr3", True))
        note("deep", lambda: setattr(ctx.array.saving.storage_options, "dtype", "int8"))
        note("layout while active", lambda: setattr(ctx, "checkpoint_layout", "auto"))
        note("inherited", lambda: ocp.Context().array.saving.use_zarr3)
        with ocp.Context(array_options=o.ArrayOptions()):
            note("inner", lambda: ocp.Context().array.saving.use_zarr3)
        note("outer again", lambda: ocp.Context().array.saving.use_zarr3)
        note("zarr 2", lambda: ocp.save(d + "/z", {"a": np.zeros(3)}))
    note("after", lambda: ocp.Context().array.saving.use_zarr3)
    note("not active", lambda: setattr(ctx.array.saving, "use_zarr3", True))
    plain = ocp.Context()
    plain.array.saving.use_ocdbt = False
    plain.array.saving.use_zarr3 = False
    with plain:
        note("plain", lambda: ocp.save(d + "/p", {"a": np.zeros(3)}))
    note("plain files", lambda: os.path.exists(d + "/p/state/a/.zarray"))
    cast = ocp.Context()
    cast.array.saving.storage_options.dtype = np.float16
    with cast:
        note("cast", lambda: ocp.save(d + "/c", {"a": np.arange(3.0)}))
    note("cast, load", lambda: ocp.load(d + "/c"))

    def scoped(key: Any, value: Any) -> Any:
        name = getattr(key[-1], "key", None)
        return o.ArrayOptions.Saving.StorageOptions(dtype=np.float16) if name == "b" else None

    some = ocp.Context()
    some.array.saving.scoped_storage_options_creator = scoped
    with some:
        note(
            "scoped", lambda: ocp.save(d + "/s", {"a": np.arange(3.0), "x": {"b": np.arange(2.0)}})
        )
    note("scoped, load", lambda: ocp.load(d + "/s"))
    called = []
    after = ocp.Context()
    after.asynchronous.post_finalization_callback = lambda: called.append(1)
    with after:
        note("callback", lambda: ocp.save_async(d + "/cb", {"a": 1}).result())


def sessions(ocp: Any, d: str, note: Record) -> None:
    """Checkpoints are saved in parts."""
    p = d + "/p"
    note("first", lambda: ocp.partial.save(p, {"a": np.zeros(2), "l": {"x": 1}}))
    note("not yet", lambda: ocp.load(p))
    note(
        "second",
        lambda: ocp.partial.save_async(p, {"b": np.ones(2)}, custom_metadata={"k": 1}).result(),
    )
    note("empty", lambda: ocp.partial.save(p, {}))
    note("finalize", lambda: ocp.partial.finalize(p))
    note("load", lambda: ocp.load(p))
    note("finalize twice", lambda: ocp.partial.finalize(p))
    note("save onto", lambda: ocp.partial.save(p, {"c": 1}))
    note("finalize nothing", lambda: ocp.partial.finalize(d + "/never"))
    note("left", lambda: whole(d))


def steps(c: Any) -> list[int]:
    return [x.step for x in c.checkpoints]


def runs(ocp: Any, d: str, note: Record) -> None:
    """Steps of a run are saved, listed, loaded and deleted."""
    t = ocp.training
    with t.Checkpointer(d + "/r", custom_metadata={"run": 1}) as c:
        note("none", lambda: c.latest)
        note("load none", lambda: c.load())
        note(
            "save",
            lambda: c.save(1, {"a": np.zeros(3)}, metrics={"l": 1.5}, custom_metadata={"c": 2}),
        )
        note("async", lambda: c.save_async(3, {"a": 3}).result())
        note("exists", lambda: c.save(3, {"a": 1}))
        note("exists async", lambda: c.save_async(3, {"a": 1}))
        note("exists force", lambda: c.save(3, {"a": 1}, force=True))
        note("lower", lambda: c.save(2, {"a": 1}))
        note("lower async", lambda: c.save_async(2, {"a": 1}))
        note("lower force", lambda: c.save(2, {"a": 1}, force=True))
        note("overwrite", lambda: c.save(3, {"a": 33}, force=True, overwrite=True))
        note("overwrite latest", lambda: c.save(3, {"a": 34}, overwrite=True))
        note("steps", lambda: steps(c))
        note("latest", lambda: (c.latest.step, c.latest.metrics, c.latest.path.name))
        note("metrics", lambda: [x.metrics for x in c.checkpoints])
        note("load", lambda: c.load())
        note("load step", lambda: c.load(1))
        note("load by description", lambda: c.load(c.checkpoints[0]))
        note("load abstract", lambda: c.load(1, {"a": np.ndarray}))
        note("load items", lambda: c.load_checkpointables(1))
        note("load missing", lambda: c.load(99))
        note("load negative", lambda: c.load(-1))
        note("load other item", lambda: c.load(1, checkpointable_name="zz"))
        note("metadata", lambda: c.metadata(1).metadata)
        note(
            "metadata fields",
            lambda: (
                c.metadata(1).metrics,
                c.metadata(1).custom_metadata,
                c.metadata(3).custom_metadata,
            ),
        )
        note("metadata items", lambda: c.checkpointables_metadata(1).metadata)
        note("metadata missing", lambda: c.metadata(99))
        note("should", lambda: [c.should_save(s) for s in (1, 3, 4)])
        note("saving", lambda: c.is_saving_in_progress())
        note("root", lambda: c.root_metadata().custom_metadata)
        note("directory", lambda: c.directory.name)
        note("named", lambda: c.save(10, {"a": 1}, checkpointable_name="foo"))
        note("named, load", lambda: c.load(10, checkpointable_name="foo"))
        note("named, as state", lambda: c.load(10))
        note("delete last item", lambda: c.delete(10, checkpointable_name="foo"))
        note("delete unknown item", lambda: c.delete(10, checkpointable_name="zz"))
        note("delete", lambda: c.delete(10))
        note("delete again", lambda: c.delete(10))
        note("delete missing", lambda: c.delete(10, missing_ok=True))
        note("delete async", lambda: c.delete_async(2).result())
        note(
            "items",
            lambda: c.save_checkpointables(
                11, {"x": {"a": 1}, "state": {"b": 2}}, metrics={"m": 2.0}
            ),
        )
        note("items, load", lambda: c.load_checkpointables())
        note("items, one", lambda: c.load_checkpointables(11, {"x": None}))
        note("items, missing", lambda: c.load_checkpointables(11, {"zz": None}))
        note("items, metrics", lambda: c.save_checkpointables(12, {"metrics": {"a": 1}}))
        note("items async", lambda: c.save_checkpointables_async(13, {"x": {"a": 1}}).result())
        note("delete item", lambda: c.delete(11, checkpointable_name="x"))
        note("deleted item", lambda: sorted(c.load_checkpointables(11)))
        note("bad metrics", lambda: c.save(20, {"a": 1}, metrics={"l": np.float32(1)}))
        note("bad custom", lambda: c.save(21, {"a": 1}, custom_metadata={"l": object()}))
        note("None", lambda: c.save(22, None))
        note("wait", lambda: c.wait())
        note("cancel", lambda: c.cancel(13))
        note("cancelled", lambda: steps(c))
        note("reload", lambda: c.reload())
        note("end", lambda: steps(c))
        note("files", lambda: sorted(n for n in os.listdir(d + "/r") if n.isdigit()))
    with t.Checkpointer(d + "/r", custom_metadata={"run": 2}) as c:
        note("second run", lambda: (steps(c), c.root_metadata().custom_metadata))


def contexts_of_runs(ocp: Any, d: str, note: Record) -> None:
    """The options of a run are those of the active context, else those of its opening."""
    a = ocp.Context()
    a.array.saving.use_ocdbt = False
    b = ocp.Context()

    def is_apart(run: str, step: int) -> bool:
        return os.path.exists(f"{d}/{run}/{step}/state/w")

    with ocp.training.Checkpointer(d + "/1") as c:
        with a:
            c.save(0, {"w": np.ones(2)})
        note("active at the call", lambda: is_apart("1", 0))
    with a:
        c = ocp.training.Checkpointer(d + "/2")
    with c:
        c.save(0, {"w": np.ones(2)})
        note("active at the opening", lambda: is_apart("2", 0))
    with ocp.training.Checkpointer(d + "/3", context=a) as c:
        with b:
            c.save(0, {"w": np.ones(2)})
        a.array.saving.use_ocdbt = True
        c.save(1, {"w": np.ones(2)})
        note("given and active", lambda: is_apart("3", 0))
        note("given and changed", lambda: is_apart("3", 1))


class Even:
    """A save policy of the user."""

    def should_save(self, step: Any, previous_steps: Any, *, context: Any) -> bool:
        assert [p.step for p in previous_steps] == sorted(p.step for p in previous_steps)
        assert context.reached_preemption is False
        even: bool = step.step % 2 == 0
        return even


class Odd:
    """A preservation policy of the user."""

    def should_preserve(self, checkpoints: Any, *, context: Any) -> list[bool]:
        return [c.step % 2 == 1 or c is checkpoints[-1] for c in checkpoints]


def policies(ocp: Any, d: str, note: Record) -> None:
    """Policies decide what is saved and kept, in both kinds: data, and functions of the user."""
    save = ocp.training.save_decision_policies
    keep = ocp.training.preservation_policies
    decisions = {
        "fixed": save.FixedIntervalPolicy(3),
        "specific": save.SpecificStepsPolicy([1, 4, 6]),
        "range": save.SpecificStepsPolicy(range(2, 5)),
        "initial": save.InitialSavePolicy(),
        "continuous": save.ContinuousCheckpointingPolicy(),
        "seldom": save.AnySavePolicy(
            [save.ContinuousCheckpointingPolicy(minimum_interval_secs=1000)]
        ),
        "preemption": save.PreemptionCheckpointingPolicy(),
        "any": save.AnySavePolicy([save.InitialSavePolicy(), save.FixedIntervalPolicy(4)]),
        "own": Even(),
        "own among others": save.AnySavePolicy([save.FixedIntervalPolicy(5), Even()]),
    }
    for name, policy in decisions.items():
        with ocp.training.Checkpointer(f"{d}/s-{name}", save_decision_policy=policy) as c:
            note(f"save {name}", lambda: [c.save(s, {"a": s}) for s in range(7)])
            note(f"should {name}", lambda: [c.should_save(s) for s in range(5, 10)])
            note(f"steps {name}", lambda: steps(c))
    kept = {
        "all": keep.PreserveAll(),
        "latest": keep.LatestN(2),
        "latest all": keep.LatestN(),
        "every": keep.AnyPreservationPolicy([keep.EveryNSteps(3), keep.LatestN(1)]),
        "every, inexact": keep.AnyPreservationPolicy(
            [keep.EveryNSteps(3, exact_interval=False), keep.LatestN(1)]
        ),
        "closest": keep.EveryNStepsClosest(4),
        "custom": keep.AnyPreservationPolicy([keep.CustomSteps([1, 2]), keep.LatestN(1)]),
        "duration": keep.LatestDuration(datetime.timedelta(hours=1)),
        "seconds": keep.AnyPreservationPolicy([keep.EveryNSeconds(3600), keep.LatestN(1)]),
        "best": keep.AnyPreservationPolicy(
            [keep.BestN(get_metric_fn=lambda m: m["l"], n=2), keep.LatestN(1)]
        ),
        "best, reverse": keep.AnyPreservationPolicy(
            [keep.BestN(get_metric_fn=lambda m: m["l"], n=2, reverse=True), keep.LatestN(1)]
        ),
        "own": Odd(),
        "own among others": keep.AnyPreservationPolicy([Odd(), keep.CustomSteps([2])]),
    }
    metrics = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]
    for name, policy in kept.items():
        with ocp.training.Checkpointer(f"{d}/k-{name}", preservation_policy=policy) as c:
            for s in range(7):
                c.save(s, {"a": s}, metrics={"l": metrics[s]}, force=True)
            note(f"kept {name}", lambda: steps(c))


def formats(ocp: Any, d: str, note: Record) -> None:
    """Steps have the names that a format spells."""
    step = ocp.path.step
    plain = step.standard_name_format(step_prefix="step", step_format_fixed_length=4)
    with ocp.training.Checkpointer(d + "/a", step_name_format=plain) as c:
        note("save", lambda: [c.save(s, {"a": s}, force=True) for s in (3, 12345)])
        note("names", lambda: sorted(n for n in os.listdir(d + "/a") if n.startswith("step")))
    note("find all", lambda: sorted((x.step, x.path.name) for x in plain.find_all(d + "/a")))
    note("find", lambda: plain.find_step(d + "/a", 3).path.name)
    note("find missing", lambda: plain.find_step(d + "/a", 4))
    note("build", lambda: plain.build_name(7))
    other = step.standard_name_format()
    note("not among", lambda: step.composite_name_format(plain, [other]))
    several = step.composite_name_format(other, [other, plain])
    note("composite", lambda: (several.build_name(5), several.find_step(d + "/a", 3).path.name))
    with ocp.training.Checkpointer(d + "/a", step_name_format=several) as c:
        note("listed", lambda: steps(c))
        note("save other", lambda: c.save(20000, {"a": 1}, force=True))
    note("both", lambda: sorted(n for n in os.listdir(d + "/a") if n[-1].isdigit()))


@pytest.mark.parametrize(
    "program",
    [
        trees,
        wrong_saves,
        wrong_loads,
        abstract_trees,
        items,
        own_handlers,
        contexts,
        sessions,
        runs,
        contexts_of_runs,
        policies,
        formats,
    ],
)
def test_same(program: Program, tmp_path: Path) -> None:
    assert differences(program, tmp_path) == []
