"""bivouac.torch beside torch and torchdata: the same batches, states both ways, the same names."""

from __future__ import annotations

import collections
import copy
import inspect
import os
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

import loader_scenes as scenes
from loader_judge import encode

import bivouac
import bivouac.torch as bt
from bivouac.torch import StatefulDataLoader, default_collate, default_convert

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),
]

ROOT = Path(__file__).resolve().parents[2]


def torchdata_loader() -> Any:
    """Return torchdata's class, or skip the test."""
    module = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is missing")
    return module.StatefulDataLoader


def choose(draw: random.Random) -> dict[str, Any]:
    """Return a random scenario."""
    workers = draw.choice([0, 0, 1, 2, 3])
    kinds = ["map", "map_stateful", "iter", "iter_iterator", "iter_dataset", "iter_both"]
    kind = draw.choice(kinds)
    dataset: dict[str, Any] = {"kind": kind, "n": draw.randrange(1, 40)}
    args: dict[str, Any] = {"num_workers": workers, "batch_size": draw.choice([1, 2, 5, None])}
    if args["batch_size"] is None:
        args["collate_fn"] = "identity"
    else:
        args["drop_last"] = draw.random() < 0.3
    if kind.startswith("map"):
        seeds = {"seed": draw.randrange(1 << 40)}
        samplers: list[dict[str, Any]] = [
            {"sampler": {"kind": "random", **seeds}},
            {"sampler": {"kind": "torch_random", **seeds}},
            {"sampler": {"kind": "random", "replacement": True, "num_samples": 45, **seeds}},
            {"sampler": {"kind": "distributed", "num_replicas": 2, "rank": 1}},
            {"sampler": {"kind": "stateful_list", "list": list(range(dataset["n"]))}},
            {"shuffle": True},
            {"shuffle": True, "generator_seed": draw.randrange(1 << 60)},
            {},
        ]
        args.update(draw.choice(samplers))
    if workers:
        args["snapshot_every_n_steps"] = draw.choice([1, 1, 2, 3, 7, 0])
        args["prefetch_factor"] = draw.choice([1, 2, 3])
        args["persistent_workers"] = draw.random() < 0.3
    return {"dataset": dataset, "loader": args}


def settle(scenario: dict[str, Any], state: Any) -> Any:
    """Return a state in a form that is compared, without what depends on timing."""
    shown = encode(copy.deepcopy(state))
    many = scenario["loader"]["num_workers"] > 1
    if many and scenario["dataset"]["kind"].startswith("iter"):
        main = ("_snapshot", "_main_snapshot")
        for path in ((*main, "_sampler_iter_yielded"), (*main, "_sampler_iter_state")):
            inner = shown
            for key in path[:-1]:
                inner = inner[key]
            inner.pop(path[-1])
    return shown


@pytest.mark.parametrize("seed", range(60))
def test_torch_states_go_both_ways(seed: int) -> None:
    theirs = torchdata_loader()
    draw = random.Random(seed)
    scenario = choose(draw)
    stop, states = draw.randrange(12), {}
    rests: dict[Any, Any] = {}
    for cls in (theirs, StatefulDataLoader):
        torch.manual_seed(seed)
        loader = scenes.build(scenario, {}, cls)
        if draw.random() < 0.2:
            list(loader)
            torch.manual_seed(seed + 1)
        iterator = iter(loader)
        trail = []
        for _ in range(stop):
            try:
                trail.append(encode(next(iterator)))
            except StopIteration:
                break
            trail.append(settle(scenario, loader.state_dict()))
        states[cls] = copy.deepcopy(loader.state_dict())
        rests[cls] = trail, [encode(b) for b in iterator]
        draw = random.Random(seed)
        choose(draw), draw.randrange(12)
    assert rests[theirs] == rests[StatefulDataLoader], scenario
    assert settle(scenario, states[theirs]) == settle(scenario, states[StatefulDataLoader])
    for saved, resumed in ((theirs, StatefulDataLoader), (StatefulDataLoader, theirs)):
        state = pickle.loads(pickle.dumps(states[saved]))
        torch.manual_seed(99)
        loader = scenes.build(scenario, {}, resumed)
        loader.load_state_dict(state)
        rest = [encode(b) for b in loader]
        if states[saved]["_iterator_finished"]:
            continue  # the next epoch, whose seed is another
        assert rest == rests[theirs][1], (scenario, saved)


Point = collections.namedtuple("Point", ["x", "y"])


class Named(dict):  # type: ignore[type-arg]
    """A mapping with more than its items."""

    name = ""


def samples() -> list[Any]:
    """Return samples of many kinds."""
    named = Named(a=1)
    named.name = "n"
    return [
        1,
        True,
        2.5,
        "s",
        b"b",
        np.float32(2),
        np.float64(2),
        np.int8(1),
        np.bool_(True),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array(3.0),
        torch.arange(4),
        torch.tensor(2.0),
        torch.ones(2, 2, dtype=torch.bfloat16),
        (1, "x"),
        [1, 2.0],
        Point(1, torch.ones(3)),
        {"a": 1, "b": {"c": [torch.ones(2), "t"]}},
        named,
        range(3),
        [],
        (),
        collections.OrderedDict(z=1, a=2),
        collections.UserDict(a=1),
        np.ones((4, 5)).T,
    ]


@pytest.mark.parametrize("sample", samples(), ids=lambda s: type(s).__name__)
def test_torch_collating_is_that_of_torch(sample: Any) -> None:
    from torch.utils.data import default_collate as theirs
    from torch.utils.data import default_convert as converts

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, collections.UserDict):
            a, b = dict(a), dict(b)
        return repr(a) == repr(b) and type(a) is type(b) and encode(a) == encode(b)

    batch = [copy.deepcopy(sample) for _ in range(3)]
    assert same(default_collate(batch), theirs(batch))
    assert same(default_convert(sample), converts(sample))
    # The same through a worker.
    loader = StatefulDataLoader(batch, batch_size=3, num_workers=1)
    assert repr(next(iter(loader))) == repr(theirs(batch))


def test_torch_types_of_the_user_are_collated() -> None:
    from torch.utils.data._utils.collate import default_collate_fn_map as table

    class Own:
        pass

    table[Own] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        assert default_collate([Own(), Own()]) == 2
    finally:
        del table[Own]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "bool", "complex64", "float8_e4m3fn"])
def test_torch_tensors_of_every_dtype_pass_through_slots(dtype: str) -> None:
    data = [torch.randn(50, 50).to(getattr(torch, dtype)) for _ in range(8)]
    for k, batch in enumerate(StatefulDataLoader(data, 4, num_workers=2)):
        want = torch.stack(data[4 * k : 4 * k + 4])
        assert batch.dtype == want.dtype
        assert torch.equal(batch.view(torch.uint8), want.view(torch.uint8))
        batch.view(torch.uint8).zero_()  # batches may be written to


def test_torch_samples_with_a_gradient_or_sparse_samples_pass() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    data = [torch.ones(3, requires_grad=True), torch.eye(3).to_sparse(), parameter]
    got = list(StatefulDataLoader(data, batch_size=None, num_workers=1))
    assert got[0].requires_grad and got[1].is_sparse and isinstance(got[2], torch.nn.Parameter)


def test_torch_finds_the_worker() -> None:
    class Who(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> Any:
            info, own = torch.utils.data.get_worker_info(), bt.get_worker_info()
            return info.id, info.num_workers, info is own, torch.get_num_threads()

    loader = StatefulDataLoader(Who(), batch_size=None, num_workers=2, collate_fn=tuple)
    assert list(loader) == [(0, 2, True, 1), (1, 2, True, 1)] * 2


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_torch_start_methods(method: str) -> None:
    scenario = {"dataset": {"kind": "map", "n": 8, "item": "seed"}}
    args = {"num_workers": 2, "generator_seed": 5, "batch_size": 2}
    want = [encode(b) for b in scenes.build(scenario, args)]
    got = [encode(b) for b in scenes.build(scenario, {**args, "multiprocessing_context": method})]
    assert got == want


def test_torch_memory_is_pinned_where_there_is_an_accelerator() -> None:
    batch = next(iter(StatefulDataLoader([torch.ones(3)], pin_memory=True)))
    assert batch.is_pinned() == torch.accelerator.is_available()


def test_torch_datapipes_are_refused() -> None:
    class Pipe(torch.utils.data.IterDataPipe):  # type: ignore[misc, name-defined]
        pass

    with pytest.raises(TypeError, match="DataPipe"):
        StatefulDataLoader(Pipe())


def test_torch_states_without_torch() -> None:
    """A state that torch saved is read without torch, and the other way round."""
    loader = StatefulDataLoader(range(20), 3, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = [b.tolist() for b in iterator]
    inner = state["_sampler_iter_state"]["sampler_iter_state"]
    inner["generator"] = inner["generator"].numpy()
    resumed = StatefulDataLoader(range(20), 3, shuffle=True, generator=bt.Generator())
    resumed.load_state_dict(state)
    assert [b.tolist() for b in resumed] == rest
    resumed = StatefulDataLoader(range(20), 3, shuffle=True)
    resumed.load_state_dict(state)
    assert [b.tolist() for b in resumed] == rest


def test_torch_loader_is_not_imported() -> None:
    code = """
import sys, torch
before = {m for m in sys.modules if m.startswith(("torch.utils.data", "torchdata"))}
from bivouac.torch import StatefulDataLoader
loader = StatefulDataLoader(list(range(9)), 2, shuffle=True, num_workers=1)
list(loader), loader.state_dict()
from bivouac.torch.nodes import IterableWrapper, Loader, ParallelMapper, Prefetcher
source = ParallelMapper(IterableWrapper(range(9)), str, 2, method="process")
loader = Loader(Prefetcher(source, 2))
list(loader), loader.state_dict()
after = {m for m in sys.modules if m.startswith(("torch.utils.data", "torchdata"))}
assert before == after, after - before
"""
    env = {**os.environ, "PYTHONPATH": str(Path(bivouac.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def test_torch_arguments_are_those_of_torchdata() -> None:
    def arguments(cls: Any) -> list[tuple[str, Any, Any]]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    theirs, ours = arguments(torchdata_loader()), arguments(StatefulDataLoader)
    assert ours[: len(theirs)] == theirs
    rest = {name: default for name, _, default in ours[len(theirs) :]}
    assert rest.pop("elastic") is False and set(rest.values()) == {None}


def table() -> dict[str, str]:
    """Return the rows of docs/compat/python-torchdata.md: a name, and its test."""
    page = (ROOT / "docs" / "compat" / "python-torchdata.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \|.*\| (?:`([^`]+)`|) ?\|$", page, re.MULTILINE)
    return dict(rows)


def test_torch_every_name_has_a_row() -> None:
    rows = table()
    theirs = torchdata_loader()
    wanted = set(inspect.signature(theirs.__init__).parameters) - {"self"}
    wanted |= set(inspect.signature(torch.utils.data.DataLoader.__init__).parameters) - {"self"}
    for cls in (theirs, torch.utils.data.DataLoader):
        members = [name for name in vars(cls) if name[0] != "_"]
        wanted |= {f"{name}()" if callable(getattr(cls, name)) else name for name in members}
    wanted |= {"get_worker_info()", "default_collate()", "default_convert()", "Stateful"}
    wanted |= {"RandomSampler", "BatchSampler", "StatefulDistributedSampler", "SequentialSampler"}
    assert wanted - set(rows) == set()
    tests = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    for name, test in rows.items():
        assert not test or f"def {test}(" in tests, (name, test)


