"""Nodes of the recorded scenarios of torchdata.nodes. README.md of the vectors describes them."""

from __future__ import annotations

from typing import Any

from loader_scenes import sampler_of
from node_data import Counter, double, double_list, fail3

from bivouac.torch import nodes

FUNCTIONS = {"double": double, "double_list": double_list, "fail3": fail3}
NOT_ARGUMENTS = ("node", "source", "sources", "n", "sampler", "fn")


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
