"""bivouac.torch.nodes beside torchdata.nodes: the same items, states both ways, the same names."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import pickle
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import node_data as data
import node_scenes
from loader_judge import encode
from torch.utils.data import DistributedSampler

import bivouac
from bivouac.torch import StatefulDistributedSampler, nodes

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).resolve().parents[2]
EVENTS = 45
END = "end"
CRITERIA = [name for name in vars(nodes.StopCriteria) if name[0] != "_"]


@pytest.fixture
def theirs() -> Any:
    """Return torchdata.nodes, or skip the test."""
    return pytest.importorskip("torchdata.nodes", reason="torchdata is missing")


def leaf(draw: random.Random, start: int, below: str) -> dict[str, Any]:
    """Return a source without sources. `below` names the nodes above that limit the choice."""
    n = draw.randrange(1, 13)
    kinds = ["iterable", "iterable"] + ["sampler", "mapstyle"] * ("ahead" not in below)
    kind = draw.choice(kinds)
    if kind == "iterable":
        stateful = not below and draw.random() < 0.5
        return {"node": "IterableWrapper", "n": start + n, "start": start, "stateful": stateful}
    samplers: list[dict[str, Any]] = [
        {"kind": "sequential"},
        {"kind": "torch_distributed", "num_replicas": 2, "rank": 1, "dseed": draw.randrange(99)},
    ]
    names = {"sampler": "SamplerWrapper", "mapstyle": "MapStyleWrapper"}
    return {"node": names[kind], "n": n, "sampler": draw.choice(samplers)}


def graph(draw: random.Random, depth: int, start: int = 0, below: str = "") -> dict[str, Any]:
    """Return a random node.

    Some graphs are left out, because torchdata depends on timing in them, or cannot resume them.
    Those are epochs below a thread below a weighted node, and an iterable that clears its state
    below an Unbatcher or a weighted node.
    """
    if depth == 0 or draw.random() < 0.15:
        return leaf(draw, start, below)
    kinds = ["Mapper", "ParallelMapper", "Prefetcher", "Batcher", "Unbatcher"]
    if "ahead" not in below:
        kinds += ["MultiNodeWeightedSampler"] * 2
    kind = draw.choice(kinds)
    if "weighted" in below and kind in ("ParallelMapper", "Prefetcher"):
        below += " ahead"
    if kind == "MultiNodeWeightedSampler":
        names = "abc"[: draw.randrange(1, 4)]
        world = draw.choice([1, 1, 3])
        sources = {
            name: graph(draw, depth - 1, start + 100 * (i + 1), below + " weighted")
            for i, name in enumerate(names)
        }
        return {
            "node": kind,
            "sources": sources,
            "weights": {name: draw.choice([0.1, 0.5, 1.0, 2.25]) for name in names},
            "stop_criteria": draw.choice(CRITERIA),
            "seed": draw.randrange(1 << 20),
            "rank": draw.randrange(world),
            "world_size": world,
        }
    if kind == "Unbatcher":
        size, drop = draw.randrange(1, 5), not below and draw.random() < 0.3
        source = graph(draw, depth - 1, start, below + " unbatch")
        batcher = {"node": "Batcher", "source": source, "batch_size": size, "drop_last": drop}
        return {"node": kind, "source": batcher}
    made: dict[str, Any] = {"node": kind, "source": graph(draw, depth - 1, start, below)}
    if kind in ("Mapper", "ParallelMapper"):
        made["fn"] = "double"
    if kind == "ParallelMapper":
        made["num_workers"] = draw.randrange(3)
        made["prebatch"] = draw.choice([None, None, 1, 2, 3])
    if kind == "Prefetcher":
        made["prefetch_factor"] = draw.randrange(1, 4)
    if kind in ("Prefetcher", "ParallelMapper"):
        made["snapshot_frequency"] = draw.choice([1, 1, 2, 3, 7, 0])
    if kind == "Batcher":
        made["batch_size"] = draw.randrange(1, 5)
        made["drop_last"] = not below and draw.random() < 0.3
    return made


def loader(description: dict[str, Any], module: Any) -> Any:
    """Return a loader of a description."""
    return module.Loader(node_scenes.node(description, module))


def play(made: Any, most: int = EVENTS) -> tuple[list[Any], list[Any]]:
    """Return what a loader gives in up to three epochs, and the state before each event."""
    events: list[Any] = []
    states: list[Any] = []
    for _ in range(3):
        iterator = iter(made)
        while len(events) < most:
            states.append(copy.deepcopy(made.state_dict()))
            try:
                events.append(next(iterator))
            except StopIteration:
                events.append(END)
                break
    return events, states


def rest(events: list[Any], at: int) -> list[Any]:
    """Return what a loader gives after a resume. The end of an epoch resumes in the next one."""
    left = events[at:]
    return left[1:] if left[:1] == [END] else left


def agree(a: list[Any], b: list[Any]) -> bool:
    """Report whether two runs are equal as far as both go."""
    n = min(len(a), len(b))
    return a[:n] == b[:n]


@pytest.mark.parametrize("seed", range(80))
def test_torch_states_of_nodes_go_both_ways(seed: int, theirs: Any) -> None:
    draw = random.Random(seed)
    description = graph(draw, draw.randrange(1, 4))
    events, states = play(loader(description, nodes))
    want, want_states = play(loader(description, theirs))
    assert events == want, description
    assert encode(states) == encode(want_states), description
    assert repr(states) == repr(want_states)  # the members have the same order
    for at in sorted(draw.sample(range(len(states)), min(4, len(states)))):
        for saved in (states[at], want_states[at]):
            made = loader(description, nodes)
            made.load_state_dict(pickle.loads(pickle.dumps(saved)))
            assert agree(play(made)[0], rest(events, at)), (description, at)
        results = []
        for saved in (states[at], want_states[at]):
            made = loader(description, theirs)
            made.load_state_dict(pickle.loads(pickle.dumps(saved)))
            results.append(play(made)[0])
        assert agree(*results), (description, at)


@pytest.mark.parametrize("seed", range(80, 120))
def test_torch_resumed_states_are_those_of_the_run(seed: int) -> None:
    draw = random.Random(seed)
    description = graph(draw, draw.randrange(1, 4))
    events, states = play(loader(description, nodes))
    for at in range(0, len(states), max(1, len(states) // 6)):
        if events[at] == END:
            continue  # the next epoch comes at once
        made = loader(description, nodes)
        made.load_state_dict(copy.deepcopy(states[at]))
        got, after = play(made)
        assert agree(got, events[at:]), (description, at)
        n = min(len(after), len(states) - at)
        assert encode(after[1:n]) == encode(states[at + 1 : at + n]), (description, at)


@pytest.mark.parametrize("method", ["thread", "process"])
@pytest.mark.parametrize("in_order", [True, False])
def test_torch_torchdata_reads_states_of_workers(method: str, in_order: bool, theirs: Any) -> None:
    def make(module: Any) -> Any:
        root = module.ParallelMapper(
            module.IterableWrapper(range(20)),
            data.double,
            2,
            in_order=in_order,
            method=method,
            multiprocessing_context="fork" if method == "process" else None,
            snapshot_frequency=3,
        )
        return module.Loader(root)

    for saved, resumed in ((nodes, theirs), (theirs, nodes)):
        made = make(saved)
        iterator = iter(made)
        first = [next(iterator) for _ in range(8)]
        other = make(resumed)
        other.load_state_dict(made.state_dict())
        got = list(other)
        if in_order:
            assert first + got == list(range(0, 40, 2))
        else:
            # Which items torchdata leaves out, and how many of those in flight, depends on timing.
            assert 8 <= len(got) <= 12 and len(set(got)) == len(got)
            assert set(got) <= set(range(0, 40, 2))


def test_torch_nodes_of_both_packages_mix(theirs: Any) -> None:
    for below, above in ((theirs, nodes), (nodes, theirs)):
        source = below.Prefetcher(below.IterableWrapper(data.Counter(9)), 2)
        root = above.Batcher(above.ParallelMapper(source, data.double, 2), 2, drop_last=False)
        made = above.Loader(root)
        iterator = iter(made)
        assert [next(iterator) for _ in range(2)] == [[0, 2], [4, 6]]
        state = made.state_dict()
        assert list(iterator) == [[8, 10], [12, 14], [16]]
        made = above.Loader(root)
        made.load_state_dict(state)
        assert list(made) == [[8, 10], [12, 14], [16]]


def numbers(module: Any, n: int = 6) -> Any:
    return module.IterableWrapper(range(n))


def class_of(module: Any, **members: Any) -> Any:
    """Return a node of a class of the user."""
    return type("Own", (module.BaseNode,), members)


def no_init(self: Any) -> None:
    pass


def no_reset(self: Any, initial_state: Any = None) -> None:
    pass


def resets(self: Any, initial_state: Any = None) -> None:
    type(self).__mro__[1].reset(self, initial_state)


def breaks(self: Any) -> Any:
    raise data.Boom("no state")


def load(made: Any, state: Any) -> Any:
    """Load a state, and begin."""
    made.load_state_dict(state)
    return iter(made)


def mapped(m: Any, function: Any, **args: Any) -> Any:
    """Return what a loader over a ParallelMapper gives."""
    return list(m.Loader(m.ParallelMapper(numbers(m), function, **{"num_workers": 2, **args})))


FORK: dict[str, Any] = {"method": "process", "multiprocessing_context": "fork"}
REFUSALS: dict[str, Callable[[Any], Any]] = {
    "method": lambda m: m.ParallelMapper(numbers(m), str, 1, method="x"),
    "context": lambda m: m.ParallelMapper(
        numbers(m), str, 1, method="process", multiprocessing_context="x"
    ),
    "max_concurrent": lambda m: m.ParallelMapper(numbers(m), str, 1, max_concurrent=2),
    "prebatch": lambda m: m.ParallelMapper(numbers(m), str, 1, prebatch=-1),
    "criteria": lambda m: m.MultiNodeWeightedSampler({"a": numbers(m)}, {"a": 1.0}, "x"),
    "weight": lambda m: m.MultiNodeWeightedSampler({"a": numbers(m)}, {"a": -1.0}),
    "names": lambda m: m.MultiNodeWeightedSampler({"a": numbers(m)}, {"a": 1.0, "b": 1.0}),
    "rank": lambda m: m.MultiNodeWeightedSampler({"a": numbers(m)}, {"a": 1.0}),
    "pin": lambda m: m.PinMemory(numbers(m)),
    "init": lambda m: next(class_of(m, __init__=no_init)()),
    "init, state": lambda m: class_of(m, __init__=no_init)().state_dict(),
    "reset": lambda m: next(class_of(m, reset=no_reset)()),
    "reset, state": lambda m: class_of(m, reset=no_reset)().state_dict(),
    "next": lambda m: next(class_of(m)()),
    "get_state": lambda m: class_of(m)().state_dict(),
    "short iterable": lambda m: load(
        m.Loader(numbers(m)), {"num_yielded": 9, "root": {"_num_yielded": 9}}
    ),
    "short generator": lambda m: load(
        m.Loader(m.IterableWrapper(x for x in "abc")),
        {"num_yielded": 9, "root": {"_num_yielded": 9}},
    ),
    "short sampler": lambda m: load(
        m.Loader(m.SamplerWrapper([1, 2])),
        {"num_yielded": 9, "root": {"_num_yielded": 9, "_epoch": 0}},
    ),
    "short prefetch": lambda m: load(
        m.Loader(m.Prefetcher(numbers(m), 2)),
        {"num_yielded": 9, "root": {"snapshot": {"_num_yielded": 4}, "steps_since_snapshot": 3}},
    ),
    "frequency": lambda m: next(m.Prefetcher(numbers(m), 2, snapshot_frequency=-1)),
    "frequency, mapper": lambda m: next(
        m.ParallelMapper(numbers(m), str, 1, snapshot_frequency=2.5)
    ),
    "startup": lambda m: next(m.Prefetcher(class_of(m, get_state=breaks, reset=resets)(), 2)),
    "thread": lambda m: mapped(m, data.fail3),
    "thread, key": lambda m: mapped(m, data.fail_key),
    "thread, odd": lambda m: mapped(m, data.fail_oddly),
    "thread, named": lambda m: mapped(m, data.fail_named),
    "thread, prebatch": lambda m: mapped(m, data.fail3, prebatch=2),
    "process": lambda m: mapped(m, data.fail3, **FORK),
    "process, key": lambda m: mapped(m, data.fail_key, **FORK),
    "process, odd": lambda m: mapped(m, data.fail_oddly, **FORK),
    "inline": lambda m: mapped(m, data.fail3, num_workers=0),
    "prefetch": lambda m: list(m.Loader(m.Prefetcher(m.Mapper(numbers(m), data.fail3), 2))),
    "nested": lambda m: list(
        m.Loader(m.Prefetcher(m.ParallelMapper(numbers(m), data.fail3, 2), 2))
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_torch_errors_of_nodes_are_torchdatas(
    name: str, theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "rank":
        monkeypatch.setenv("RANK", "4")
        monkeypatch.setenv("WORLD_SIZE", "2")
    if name == "pin" and torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    shown = []
    for module in (theirs, nodes):
        with pytest.raises(Exception) as caught:
            REFUSALS[name](module)
        text = str(caught.value)
        if "Original Traceback" in text:
            lines = text.strip().splitlines()
            text = f"{lines[0]} … {lines[1]} … {lines[-1]}"
        shown.append((type(caught.value), text))
    if name == "method":  # torchdata's has no text
        shown = [(kind, "") for kind, _ in shown]
    assert shown[0] == shown[1]


def test_torch_a_state_of_another_node_is_refused(theirs: Any) -> None:
    state = theirs.Loader(theirs.Prefetcher(theirs.IterableWrapper(range(3)), 1)).state_dict()
    made = nodes.Loader(nodes.Batcher(numbers(nodes), 2))
    made.load_state_dict(state)
    with pytest.raises(KeyError, match="a member 'source', got 'snapshot', 'steps_since_snapshot'"):
        iter(made)
    with pytest.raises(ValueError, match="a member 'root', got an empty state"):
        load(made, {})


def test_torch_pinned_memory(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of PinMemory works as in torchdata. Without an accelerator nothing is pinned."""
    if torch.accelerator.is_available():
        node = nodes.PinMemory(nodes.IterableWrapper([torch.ones(3)]))
        assert next(node).is_pinned()
        return
    theirs_pin = importlib.import_module("torchdata.nodes.pin_memory")
    calls: list[str] = []

    def pin(x: Any, device: Any = None) -> Any:
        calls.append(threading.current_thread().name)
        assert torch.get_num_threads() == 1
        return ("pinned", x)

    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: calls.append(f"device {index}"))
    monkeypatch.setattr(theirs_pin, "pin_memory", pin)
    monkeypatch.setattr("bivouac.torch._pin.pin", pin)
    threads = torch.get_num_threads()
    runs = []
    for module in (theirs, nodes):
        source = module.IterableWrapper(data.Counter(7))
        made = module.Loader(module.PinMemory(source, "cuda", snapshot_frequency=2))
        runs.append(play(made))
    assert runs[0] == runs[1] and runs[0][0][0] == ("pinned", 0)
    assert calls.count("device 0") == 6 and threading.main_thread().name not in calls
    assert torch.get_num_threads() == threads
    made = nodes.Loader(nodes.PinMemory(nodes.IterableWrapper(data.Counter(7)), "cuda", 2))
    made.load_state_dict(runs[0][1][3])
    assert list(made) == [("pinned", i) for i in range(3, 7)]

    def fails(index: int) -> None:
        raise data.Boom("no device")

    monkeypatch.setattr(torch.cuda, "set_device", fails)
    for module in (theirs, nodes):
        with pytest.raises(data.Boom, match="^Caught Boom in _pin_memory_loop startup for device"):
            next(module.PinMemory(module.IterableWrapper(range(3)), "cuda"))


def test_torch_a_distributed_sampler_goes_on_in_later_epochs() -> None:
    def make() -> Any:
        return nodes.Loader(nodes.SamplerWrapper(DistributedSampler(range(20), 2, 0)))

    made = make()
    whole = [list(made) for _ in range(3)]
    assert whole[0] != whole[1]
    list(made := make())
    iterator = iter(made)
    first = [next(iterator) for _ in range(4)]
    resumed = make()
    resumed.load_state_dict(made.state_dict())
    assert first + list(resumed) == whole[1]
    assert list(resumed) == whole[2]


def test_torch_the_count_of_a_stateful_sampler_is_not_trusted(theirs: Any) -> None:
    """Its own count is wrong until the first item after a resume, or of an epoch, is drawn."""

    def make(module: Any) -> Any:
        sampler = StatefulDistributedSampler(range(20), 2, 0)
        return module.Loader(module.SamplerWrapper(sampler))

    want = list(make(nodes))
    for module in (nodes, theirs):
        made = make(module)
        iterator = iter(made)
        first = [next(iterator) for _ in range(4)]
        second = make(module)
        second.load_state_dict(made.state_dict())
        state = second.state_dict()
        assert state["root"]["_sampler"] == {"yielded": 0}
        third = make(nodes)
        third.load_state_dict(state)
        assert first + list(third) == want


def shape(sample: Any) -> Any:
    """Return tensors of every kind."""
    return {"twice": sample["x"] * 2, "same": sample["x"], "threads": torch.get_num_threads()}


@pytest.mark.parametrize(
    ("context", "dtype"),
    [("spawn", "float32")]
    + [("fork", dtype) for dtype in ("float32", "bfloat16", "bool", "int64", "complex64")],
)
def test_torch_tensors_pass_through_processes(context: str, dtype: str) -> None:
    samples = [{"x": torch.randn(60, 60).to(getattr(torch, dtype))} for _ in range(6)]
    root = nodes.ParallelMapper(
        nodes.IterableWrapper(samples),
        shape,
        2,
        method="process",
        multiprocessing_context=context,
    )
    for sample, made in zip(samples, root, strict=True):
        assert torch.equal(made["same"], sample["x"]) and made["threads"] == 1
        assert torch.equal(made["twice"], sample["x"] * 2)
        made["same"].zero_()  # results may be written to


def test_torch_threads_of_torch_in_workers() -> None:
    before = torch.get_num_threads()
    root = nodes.ParallelMapper(numbers(nodes), lambda x: torch.get_num_threads(), 2)
    assert set(root) == {1} and torch.get_num_threads() == before


def test_torch_nodes_import_neither_torchdata_nor_the_loader() -> None:
    code = """
import sys
names = ("torch.utils.data", "torchdata")
import bivouac.torch.nodes as n
assert not any(m == "torch" or m.startswith(names) for m in sys.modules)
import torch
before = {m for m in sys.modules if m.startswith(names)}
source = n.Prefetcher(n.ParallelMapper(n.IterableWrapper(range(9)), str, 2), 2)
other = n.Unbatcher(n.Batcher(n.SamplerWrapper(range(4)), 2))
process = n.ParallelMapper(n.MapStyleWrapper({0: 1}, [0]), str, 1, method="process", prebatch=2)
root = n.MultiNodeWeightedSampler(dict(a=source, b=other, c=process), dict(a=1.0, b=1.0, c=1.0))
loader = n.Loader(root)
list(loader), loader.state_dict()
try:
    n.PinMemory(source)
except Exception:
    pass
after = {m for m in sys.modules if m.startswith(names)}
assert before == after, after - before
"""
    env = {**os.environ, "PYTHONPATH": str(Path(bivouac.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def public(cls: Any) -> set[str]:
    """Return the public members of a class."""
    return {name for base in cls.__mro__ for name in vars(base) if name[0] != "_"}


def test_torch_names_of_nodes_are_torchdatas(theirs: Any) -> None:
    assert nodes.__all__ == theirs.__all__
    for name in nodes.__all__:
        ours, other = getattr(nodes, name), getattr(theirs, name)
        if name == "T":
            assert ours.__covariant__ and other.__covariant__
            continue
        module = other.__module__.replace("torchdata.", "bivouac.torch.")
        assert getattr(importlib.import_module(module), name) is ours
        if inspect.isclass(ours):
            assert public(ours) >= public(other), name
            constants = {k: v for k, v in vars(other).items() if k.isupper()}
            assert constants == {k: getattr(ours, k) for k in constants}
            methods = [name for name in public(other) if callable(getattr(other, name))]
            for method in methods:
                assert arguments(getattr(ours, method)) == arguments(getattr(other, method)), method
        assert arguments(ours) == arguments(other), name


def arguments(value: Any) -> list[tuple[str, Any, Any]]:
    """Return the arguments of a class or a function."""
    parameters = inspect.signature(value).parameters.values()
    return [(p.name, p.kind, p.default) for p in parameters]


def table() -> dict[str, tuple[list[str], str]]:
    """Return the rows of nodes in the page: a name, its arguments, and its test."""
    page = (ROOT / "docs" / "compat" / "python-torchdata.md").read_text()
    section = page[page.index("\n## Nodes\n") :]
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|.*\| (?:`([^`]+)`|) ?\|$", section, re.MULTILINE)
    return {name: (re.findall(r"`([^`]+)`", listed), test) for name, listed, test in rows}


def test_torch_every_name_of_nodes_has_a_row(theirs: Any) -> None:
    rows = table()
    wanted: dict[str, list[str]] = {}
    for name in theirs.__all__:
        value = getattr(theirs, name)
        shown = callable(value) and not isinstance(value, type) or inspect.isclass(value)
        listed = [a for a, _, _ in arguments(value)] if shown and name != "Stateful" else []
        wanted[name] = [a for a in listed if a not in ("args", "kwargs")]
    members = {
        f"{name}.{member}": getattr(getattr(theirs, name), member)
        for name in ("BaseNode", "Loader", "StopCriteria", "Stateful")
        for member in public(getattr(theirs, name))
    }
    for name, member in members.items():
        listed = [a for a, _, _ in arguments(member)] if callable(member) else []
        wanted[f"{name}()" if callable(member) else name] = [a for a in listed if a != "self"]
    wanted.pop("T")
    assert rows.keys() >= wanted.keys(), wanted.keys() - rows.keys()
    for name, listed in wanted.items():
        assert rows[name][0] == listed, name
    tests = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    for name, (_, test) in rows.items():
        assert not test or f"def {test}(" in tests, (name, test)
