"""Graphs with operators that no output needs. `outcome` runs one: in Bivouac, or in DALI."""

from __future__ import annotations

import collections
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

BATCHES = 3
WAYS = ("dynamic", "static", "deserialized", "deserialized dynamic")


class Calls:
    """Calls makes functions that count their calls, by name."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()

    def of(self, name: str, function: Callable[..., Any] = lambda x: x) -> Callable[..., Any]:
        """Return a function that is counted."""

        def counted(*args: Any) -> Any:
            self.counts[name] += 1
            return function(*args)

        return counted

    def source(self, name: str, function: Callable[..., Any]) -> Callable[[Any], Any]:
        """Return a source of samples that is counted."""
        counted = self.of(name, function)
        return lambda info: counted(info)


def fails(*_: Any) -> Any:
    raise ValueError("it fails")


def stops(*_: Any) -> Any:
    raise StopIteration


def second_fails() -> Callable[[Any], Any]:
    """Return a function of batches whose second call fails."""
    calls = iter(range(100))
    return lambda x: fails() if next(calls) == 1 else x


def outcome(p: Any, name: str, way: str) -> dict[str, Any] | None:
    """Run a graph. The result is None if it cannot be serialized.

    Returns: whether all batches came, the calls of functions if so, and the files it wrote.
    """
    graph, settings = graphs()[name]
    calls = Calls()
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            pipe = p.pipeline_def(
                **{"batch_size": 4, "num_threads": 1, "device_id": None, "seed": 7},
                prefetch_queue_depth=1,
                exec_dynamic=way != "static",
                **settings,
            )(graph)(p, calls)
            if way.startswith("deserialized"):
                options = {"exec_dynamic": True} if way.endswith("dynamic") else {}
                try:
                    text = pipe.serialize()
                except RuntimeError:
                    return None
                pipe = p.Pipeline.deserialize(text, **options)
            pipe.build()
            for _ in range(BATCHES):
                pipe.run()
            ok = True
        except (RuntimeError, StopIteration, ValueError, TypeError, KeyError):
            ok = False
        finally:
            os.chdir(home)
        files = len(os.listdir(place))
    return {"ok": ok, "calls": dict(sorted(calls.counts.items())) if ok else {}, "files": files}


def graphs() -> dict[str, tuple[Callable[[Any, Calls], Any], dict[str, Any]]]:
    """Return the functions that define the graphs, with settings of their pipelines."""

    def row(p: Any) -> Any:
        return p.fn.random.uniform(range=[0.0, 1.0], shape=[3])

    def image(p: Any) -> Any:
        drawn = p.fn.random.uniform(range=[0.0, 255.0], shape=[4, 4, 3])
        return p.fn.cast(drawn, dtype=p.types.UINT8)

    def double(p: Any) -> Any:
        return p.fn.cast(row(p), dtype=p.types.FLOAT64)

    def function(p: Any, c: Calls) -> Any:
        p.fn.python_function(row(p), function=c.of("a"))
        return row(p)

    def function_of_batches(p: Any, c: Calls) -> Any:
        p.fn.python_function(row(p), function=c.of("a"), batch_processing=True)
        return row(p)

    def function_of_capsules(p: Any, c: Calls) -> Any:
        p.fn.dl_tensor_python_function(row(p), function=c.of("a"))
        return row(p)

    def function_without_outputs(p: Any, c: Calls) -> Any:
        p.fn.python_function(row(p), function=c.of("a", lambda x: None), num_outputs=0)
        return row(p)

    def function_class(p: Any, c: Calls) -> Any:
        p.ops.PythonFunction(function=c.of("a", lambda x: None), num_outputs=0)(row(p))
        return row(p)

    def function_fails(p: Any, c: Calls) -> Any:
        p.fn.python_function(row(p), function=c.of("a", fails))
        return row(p)

    def function_fails_once(p: Any, c: Calls) -> Any:
        made = p.fn.python_function(
            row(p), function=c.of("a", second_fails()), batch_processing=True
        )
        p.fn.python_function(made, function=c.of("b"))
        return row(p)

    def function_stops(p: Any, c: Calls) -> Any:
        p.fn.python_function(row(p), function=c.of("a", stops))
        return row(p)

    def function_partly_used(p: Any, c: Calls) -> Any:
        made, _ = p.fn.python_function(row(p), function=c.of("a", fails), num_outputs=2)
        return made

    def function_behind_a_failure(p: Any, c: Calls) -> Any:
        made = p.fn.python_function(row(p), function=c.of("a", fails))
        p.fn.python_function(made, function=c.of("b"))
        p.fn.python_function(row(p), function=c.of("c"))
        return row(p)

    def refused_between_functions(p: Any, c: Calls) -> Any:
        made = p.fn.python_function(row(p), function=c.of("a", lambda x: x.astype(np.float64)))
        p.fn.python_function(p.fn.reductions.min(made), function=c.of("b"))
        return row(p)

    def refused_and_used(p: Any, c: Calls) -> Any:
        made = p.fn.python_function(row(p), function=c.of("a", lambda x: x.astype(np.float64)))
        return p.fn.reductions.min(made)

    def refused(p: Any, _: Calls) -> Any:
        p.fn.reductions.min(double(p), preserve=True)
        return row(p)

    def refused_unused(p: Any, _: Calls) -> Any:
        p.fn.reductions.min(double(p))
        return row(p)

    def refused_sink(p: Any, _: Calls) -> Any:
        p.Pipeline.current().add_sink(p.fn.reductions.min(double(p)))
        return row(p)

    def refused_layout(p: Any, _: Calls) -> Any:
        p.fn.crop(row(p), crop=[2, 2], preserve=True)
        return row(p)

    def too_large(p: Any, _: Calls) -> Any:
        p.fn.crop(image(p), crop=[40, 40], preserve=True)
        return row(p)

    def too_large_and_used(p: Any, _: Calls) -> Any:
        return p.fn.crop(image(p), crop=[40, 40], preserve=True)

    def shapes_differ(p: Any, c: Calls) -> Any:
        longer = p.fn.random.uniform(range=[0.0, 1.0], shape=[4])
        p.fn.python_function(row(p)[0:2] + longer, function=c.of("a"))
        return row(p)

    def dump(p: Any, _: Calls) -> Any:
        p.fn.dump_image(image(p))
        return row(p)

    def dump_named(p: Any, _: Calls) -> Any:
        p.fn.dump_image(image(p), name="dumped")
        return row(p)

    def dump_preserved(p: Any, _: Calls) -> Any:
        p.fn.dump_image(image(p), preserve=True)
        return row(p)

    def dump_class(p: Any, _: Calls) -> Any:
        p.ops.DumpImage(preserve=True)(image(p))
        return row(p)

    def dump_sink(p: Any, _: Calls) -> Any:
        p.Pipeline.current().add_sink(p.fn.dump_image(image(p)))
        return row(p)

    def source(p: Any, c: Calls) -> Any:
        p.fn.external_source(c.source("s", lambda i: np.zeros(3, np.float32)), batch=False)
        return row(p)

    def source_preserved(p: Any, c: Calls) -> Any:
        p.fn.external_source(c.source("s", fails), batch=False, preserve=True)
        return row(p)

    def source_sink(p: Any, c: Calls) -> Any:
        made = p.fn.external_source(c.source("s", lambda i: np.zeros(3)), batch=False)
        p.Pipeline.current().add_sink(made * 2)
        return row(p)

    def source_of_a_function(p: Any, c: Calls) -> Any:
        made = p.fn.external_source(
            c.source("s", lambda i: np.zeros(3, np.float32)), batch=False
        )
        p.fn.python_function(made, function=c.of("a"))
        return row(p)

    def source_of_a_function_fails(p: Any, c: Calls) -> Any:
        made = p.fn.external_source(c.source("s", fails), batch=False)
        p.fn.python_function(made, function=c.of("a"))
        return row(p)

    def in_branches(p: Any, c: Calls) -> Any:
        if p.fn.random.coin_flip(dtype=p.types.BOOL):
            p.fn.python_function(row(p), function=c.of("a"))
            made = row(p)
        else:
            p.fn.python_function(row(p), function=c.of("b"))
            made = row(p)
        return made

    def in_branches_fails(p: Any, c: Calls) -> Any:
        if p.fn.random.coin_flip(dtype=p.types.BOOL):
            p.fn.python_function(row(p), function=c.of("a", fails))
            made = row(p)
        else:
            p.fn.python_function(row(p), function=c.of("b"))
            made = row(p)
        return made

    conditional = {"in_branches", "in_branches_fails"}
    found = {name: made for name, made in locals().items() if callable(made)}
    for helper in ("row", "image", "double"):
        del found[helper]
    return {
        name: (made, {"enable_conditionals": True} if name in conditional else {})
        for name, made in found.items()
    }
