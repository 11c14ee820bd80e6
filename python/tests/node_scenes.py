"""Nodes of the recorded scenarios of torchdata.nodes. README.md of the vectors describes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loader_scenes import Boom, sampler_of

from bivouac.torch import nodes


def double(x: Any) -> Any:
    """Return twice a value."""
    return x * 2


def double_list(x: list[Any]) -> list[Any]:
    """Return twice each value of a list."""
    return [2 * y for y in x]


def fail3(x: Any) -> Any:
    """Raise an error at 3."""
    if x == 3:
        raise Boom("failing at 3")
    return x


FUNCTIONS = {"double": double, "double_list": double_list, "fail3": fail3}
NOT_ARGUMENTS = ("node", "source", "sources", "n", "sampler", "fn")


class Counter:
    """A stateful iterable of numbers. It clears its place at its end."""

    def __init__(self, n: int, start: int = 0) -> None:
        self.n, self.start, self.i = n, start, 0

    def __iter__(self) -> Iterator[int]:
        while self.i < self.n:
            self.i += 1
            yield self.start + self.i - 1
        self.i = 0

    def state_dict(self) -> dict[str, Any]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]


def node(s: dict[str, Any], module: Any = nodes) -> Any:
    """Return the node of a description, made of the classes of a module."""
    kind, n = s["node"], s.get("n", 0)
    args = {name: value for name, value in s.items() if name not in NOT_ARGUMENTS}
    if kind == "IterableWrapper":
        start = args.pop("start", 0)
        stateful = args.pop("stateful", False)
        return module.IterableWrapper(Counter(n - start, start) if stateful else range(start, n))
    if kind == "SamplerWrapper":
        return module.SamplerWrapper(sampler_of(s["sampler"], range(n)), **args)
    if kind == "MapStyleWrapper":
        sampler = sampler_of(s["sampler"], range(n))
        return module.MapStyleWrapper({i: f"v{i}" for i in range(n)}, sampler)
    if kind == "MultiNodeWeightedSampler":
        sources = {name: node(below, module) for name, below in s["sources"].items()}
        return module.MultiNodeWeightedSampler(sources, **args)
    below = node(s["source"], module)
    if kind in ("Mapper", "ParallelMapper"):
        return getattr(module, kind)(below, FUNCTIONS[s["fn"]], **args)
    return getattr(module, kind)(below, **args)


def build(scenario: dict[str, Any], over: dict[str, Any], module: Any = nodes) -> Any:
    """Return the loader of an entry "new"."""
    root = node({**scenario["node"], **over}, module)
    return module.Loader(root, **scenario.get("loader", {}))
