"""bivouac.torch.nodes without torch and without worker processes: values, states and resumes."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import node_data as data
import pytest
from node_helpers import Own, numbers

import bivouac
from bivouac import errors
from bivouac.torch import RandomSampler, nodes
from bivouac.torch.nodes import (
    BaseNode,
    Batcher,
    IterableWrapper,
    Loader,
    Mapper,
    MapStyleWrapper,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
    SamplerWrapper,
    StopCriteria,
    Unbatcher,
)

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "testdata" / "torchdata"


def weighted(**args: Any) -> MultiNodeWeightedSampler[int]:
    sources = {"a": numbers(5), "b": SamplerWrapper(data.Order(4)), "c": numbers(3, 100)}
    weights = {"a": 1.0, "b": 0.5, "c": 2.0}
    return MultiNodeWeightedSampler(sources, weights, rank=0, world_size=1, **args)


GRAPHS: dict[str, Callable[[], BaseNode[Any]]] = {
    "iterable": lambda: numbers(),
    "list": lambda: IterableWrapper(list("abcde")),
    "stateful": lambda: IterableWrapper(data.Counter(7)),
    "dict": lambda: IterableWrapper(dict.fromkeys("abc")),
    "empty": lambda: numbers(0),
    "own": lambda: Own(5),
    "sampler": lambda: SamplerWrapper(data.Order(7)),
    "map style": lambda: MapStyleWrapper({i: -i for i in range(7)}, data.Order(7)),
    "batch": lambda: Batcher(numbers(), 3),
    "batch, rest": lambda: Batcher(SamplerWrapper(data.Order(7)), 3, drop_last=False),
    "unbatch": lambda: Unbatcher(Batcher(SamplerWrapper(data.Order(7)), 3, drop_last=False)),
    "map": lambda: Mapper(numbers(), data.double),
    "map, prebatch": lambda: ParallelMapper(numbers(), data.double, 0, prebatch=2),
    "threads": lambda: ParallelMapper(SamplerWrapper(data.Order(9)), data.double, 2),
    "threads, one": lambda: ParallelMapper(numbers(), data.double, 3, max_concurrent=1),
    "threads, 3": lambda: ParallelMapper(numbers(9), data.double, 2, snapshot_frequency=3),
    "threads, 0": lambda: ParallelMapper(numbers(), data.double, 2, snapshot_frequency=0),
    "threads, prebatch": lambda: ParallelMapper(
        numbers(9), data.double, 2, snapshot_frequency=2, prebatch=2
    ),
    "prefetch": lambda: Prefetcher(SamplerWrapper(data.Order(7)), 2),
    "prefetch, 4": lambda: Prefetcher(IterableWrapper(data.Counter(9)), 3, snapshot_frequency=4),
    "chain": lambda: Prefetcher(
        ParallelMapper(Batcher(numbers(9), 2, drop_last=False), data.double_list, 2), 2, 3
    ),
    "own, ahead": lambda: Prefetcher(ParallelMapper(Own(7), data.double, 2), 2, 2),
    "weighted": lambda: weighted(seed=3),
    "weighted, all": lambda: weighted(stop_criteria=StopCriteria.ALL_DATASETS_EXHAUSTED),
    "weighted, first": lambda: weighted(stop_criteria=StopCriteria.FIRST_DATASET_EXHAUSTED),
    "weighted, ahead": lambda: Prefetcher(weighted(seed=9), 2, 2),
}


def run(loader: Loader[Any], epochs: int = 3) -> tuple[list[Any], list[Any]]:
    """Return the values of some epochs, with "end" behind each, and the state before each value."""
    values: list[Any] = []
    states: list[Any] = []
    for _ in range(epochs):
        iterator = iter(loader)
        for value in itertools.chain(watched(iterator, loader, states), ["end"]):
            values.append(value)
    return values, states


def watched(iterator: Any, loader: Loader[Any], states: list[Any]) -> Iterator[Any]:
    """Yield values, and keep the state before each and at the end."""
    while True:
        states.append(copy.deepcopy(loader.state_dict()))
        try:
            yield next(iterator)
        except StopIteration:
            return


@pytest.mark.parametrize("name", GRAPHS)
def test_every_state_of_nodes_resumes(name: str) -> None:
    values, states = run(Loader(GRAPHS[name]()))
    assert values.count("end") == 3 and len(values) == len(states)
    for at, state in enumerate(states):
        loader = Loader(GRAPHS[name]())
        loader.load_state_dict(pickle.loads(pickle.dumps(state)))
        want = values[at + 1 :] if values[at] == "end" else values[at:]
        got, after = run(loader)
        n = min(len(got), len(want))
        assert got[:n] == want[:n], at
        if values[at] != "end":  # the states are those of a run without an interruption, too
            assert repr(after[1:n]) == repr(states[at + 1 : at + n]), at


@pytest.mark.parametrize("name", GRAPHS)
def test_a_state_is_taken_again_after_each_value(name: str) -> None:
    """A run that is resumed before each value gives what an uninterrupted one gives."""
    whole, _ = run(Loader(GRAPHS[name]()), 1)
    loader, got = Loader(GRAPHS[name]()), []
    for _ in range(len(whole) - 1):
        got.append(next(iter(loader)))
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        loader = Loader(GRAPHS[name]())
        loader.load_state_dict(state)
    assert [*got, "end"] == whole


def test_what_nodes_yield() -> None:
    assert list(Batcher(numbers(), 3)) == [[0, 1, 2], [3, 4, 5]]
    assert list(Batcher(numbers(), 3, drop_last=False)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(Batcher(numbers(6), 3, drop_last=False)) == [[0, 1, 2], [3, 4, 5]]
    assert list(Unbatcher(IterableWrapper([[1, 2], [], (3,), "ab"]))) == [1, 2, 3, "a", "b"]
    assert list(MapStyleWrapper(["x", "y"], [1, 0, 1])) == ["y", "x", "y"]
    for workers, method, prebatch in ((0, "thread", None), (2, "thread", 2), (3, "thread", 9)):
        made = ParallelMapper(numbers(), data.double, workers, True, method, prebatch=prebatch)
        assert list(made) == list(range(0, 14, 2))
    assert sorted(ParallelMapper(numbers(), data.double, 2, in_order=False)) == [*range(0, 14, 2)]
    assert list(Prefetcher(numbers(), 20)) == list(range(7))
    assert list(Prefetcher(numbers(0), 1)) == []


def test_refused_arguments() -> None:
    for make in (
        lambda: Batcher(numbers(), 0),
        lambda: Prefetcher(numbers(), 0),
        lambda: ParallelMapper(numbers(), str, 2, max_concurrent=0),
    ):
        with pytest.raises(errors.Invalid, match="want 1"):
            make()
    with pytest.raises(AssertionError, match="want 'thread' or 'process', got 'fiber'"):
        ParallelMapper(numbers(), str, 2, method="fiber")


def test_epochs_of_a_sampler() -> None:
    sampler = data.Order(5)
    loader = Loader(SamplerWrapper(sampler, initial_epoch=2, epoch_updater=lambda e: e + 10))
    iter(loader), iter(loader)  # nothing was read, so the epoch does not count
    assert sampler.epoch == 2
    list(loader), list(loader)
    assert sampler.epoch == 12
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    assert state == {"num_yielded": 1, "root": {"_num_yielded": 1, "_epoch": 22}}
    resumed = Loader(SamplerWrapper(sampler := data.Order(5)), restart_on_stop_iteration=False)
    resumed.load_state_dict(state)
    iter(resumed), iter(resumed)  # the first was begun before the interruption
    assert sampler.epoch == 23


def test_the_end_of_an_epoch() -> None:
    for restart, want in ((True, [0, 1, 2]), (False, [])):
        loader = Loader(numbers(3), restart)
        assert list(loader) == [0, 1, 2]
        end = loader.state_dict()
        loader = Loader(numbers(3), restart)
        loader.load_state_dict(end)
        assert list(loader) == want
        assert list(loader) == [0, 1, 2]


def test_states_after_a_resume_at_the_end_move_on() -> None:
    """In torchdata, the state stays the one that was loaded for the whole epoch."""
    loader = Loader(numbers(5))
    list(loader)
    end = loader.state_dict()
    loader = Loader(numbers(5))
    loader.load_state_dict(end)
    iterator = iter(loader)
    assert loader.state_dict() == end  # the end of an epoch is the beginning of the next one
    assert [next(iterator), next(iterator)] == [0, 1]
    state = loader.state_dict()
    assert state == {"root": {"_num_yielded": 2}, "num_yielded": 2}
    loader = Loader(numbers(5))
    loader.load_state_dict(state)
    assert list(loader) == [2, 3, 4]


def test_values_are_counted_once_after_a_resume() -> None:
    loader = Loader(numbers(5))
    loader.load_state_dict({"root": {"_num_yielded": 2}, "num_yielded": 2})
    iterator = iter(loader)
    assert next(iterator) == 2
    assert loader.state_dict() == {"root": {"_num_yielded": 3}, "num_yielded": 3}


def test_a_state_is_loaded_after_a_state_was_taken() -> None:
    """In torchdata, the first iter() after state_dict() goes on without the state."""
    loader = Loader(numbers(5))
    loader.state_dict()
    state = {"root": {"_num_yielded": 2}, "num_yielded": 2}
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    assert list(loader) == [2, 3, 4]
    loader.load_state_dict(state)  # in torchdata, state_dict() is still the end of the last epoch
    assert loader.state_dict() == state
    assert list(loader) == [2, 3, 4]


def test_a_state_that_was_taken_before_the_epoch_begins_it() -> None:
    source = data.Counter(4)
    loader = Loader(Mapper(IterableWrapper(source), data.double))
    first = loader.state_dict()
    iterator = iter(loader)
    assert loader.state_dict() == first and list(iterator) == [0, 2, 4, 6]


def test_none_is_a_value() -> None:
    """In torchdata, a resume at None begins from the beginning."""
    loader = Loader(IterableWrapper([1, None, 3, None]))
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    loader = Loader(IterableWrapper([1, None, 3, None]))
    loader.load_state_dict(state)
    assert list(loader) == [None, 3, None]


def test_loaders_tell_whether_there_is_another_value() -> None:
    loader = Loader(numbers(2))
    iterator = iter(loader)
    assert iterator.has_next() and iterator.has_next() and next(iterator) == 0
    assert loader.state_dict()["num_yielded"] == 1
    assert next(iterator) == 1 and not iterator.has_next()
    with pytest.raises(StopIteration):
        next(iterator)


SEQUENCES: dict[str, Callable[[], Any]] = {
    "range": lambda: range(10**15),
    "large range": lambda: range(10**30),
    "reads": lambda: data.Reads(10**15),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_resume_reads_nothing_of_a_sequence(name: str) -> None:
    state = {"num_yielded": 10**14, "root": {"_num_yielded": 10**14}}
    source = SEQUENCES[name]()
    for node in (IterableWrapper(source), SamplerWrapper(source)):
        loader: Loader[int] = Loader(node)
        loader.load_state_dict({**state, "root": {**state["root"], "_epoch": 0}})
        iterator = iter(loader)
        assert [next(iterator), next(iterator)] == [10**14, 10**14 + 1]
    if isinstance(source, data.Reads):
        assert source.reads == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: [5, 6, 7, 8],
        lambda: (5, 6, 7, 8),
        lambda: "abcd",
        lambda: "ab\xe9\u20ac",
        lambda: b"abcd",
        lambda: bytearray(b"abcd"),
        lambda: range(5, 9),
        lambda: data.Reads(4),
        lambda: dict.fromkeys("abcd"),
        lambda: iter("abcd"),
        lambda: (x for x in "abcd"),
        lambda: RandomSampler(range(4), generator=bivouac.torch.Generator().manual_seed(4)),
        lambda: RandomSampler(
            range(3), True, 4, generator=bivouac.torch.Generator().manual_seed(4)
        ),
    ],
)
@pytest.mark.parametrize("n", range(6))
def test_any_iterable_goes_on_at_its_place(make: Callable[[], Any], n: int) -> None:
    whole = list(make())
    loader: Loader[Any] = Loader(IterableWrapper(make()), restart_on_stop_iteration=False)
    loader.load_state_dict({"num_yielded": n, "root": {"_num_yielded": n}})
    if n <= 4:
        assert list(loader) == whole[n:]
        return
    with pytest.raises(ValueError, match="fast-forward 5 items .* StopIteration after 4 items"):
        iter(loader)


def test_a_resume_does_not_call_the_function_again() -> None:
    called: list[int] = []

    def note(x: int) -> int:
        called.append(x)
        return x

    def make() -> Loader[int]:
        return Loader(ParallelMapper(numbers(20), note, 2, snapshot_frequency=8))

    loader = make()
    iterator = iter(loader)
    for _ in range(15):
        next(iterator)
    state = loader.state_dict()
    assert state["root"]["it_state"] == {
        "snapshot": {"_num_yielded": 8},
        "steps_since_snapshot": 7,
    }
    del iterator, loader
    called.clear()
    loader = make()
    loader.load_state_dict(state)
    assert list(loader) == list(range(15, 20)) and sorted(called) == list(range(15, 20))


def test_states_of_results_out_of_order_are_exact(tmp_path: Path) -> None:
    note = tmp_path / "note"

    def make(**args: Any) -> Loader[int]:
        waits = data.Waits(str(note))
        args = {"in_order": False, "snapshot_frequency": 2, **args}
        return Loader(ParallelMapper(numbers(8), waits, 2, **args))

    loader = make()
    iterator = iter(loader)
    first = [next(iterator) for _ in range(3)]
    assert first == [1, 2, 3]  # 0 is still under way
    state = json.loads(json.dumps(loader.state_dict()))
    inner = state["root"]["it_state"]
    assert inner == {
        "snapshot": {"_num_yielded": 0},
        "steps_since_snapshot": 3,
        "_out_of_order": {"delivered_ahead": [1, 2, 3]},
    }
    note.touch()
    assert sorted(iterator) == [0, 4, 5, 6, 7]
    assert loader.state_dict()["root"]["it_state"] == {
        "snapshot": {"_num_yielded": 8},
        "steps_since_snapshot": 0,
    }
    loader = make()
    loader.load_state_dict(state)
    assert sorted(loader) == [0, 4, 5, 6, 7]
    loader = make(in_order=True)
    loader.load_state_dict(state)
    assert list(loader) == [0, 4, 5, 6, 7]
    inner["_out_of_order"]["delivered_ahead"] = [0]
    loader.load_state_dict(state)
    with pytest.raises(errors.Corrupt, match="want at most 3 numbers from 1"):
        iter(loader)


def test_results_out_of_order_are_resumed_again_and_again() -> None:
    def make() -> Loader[int]:
        root = ParallelMapper(numbers(60), data.Slow(0.0005), 4, False, snapshot_frequency=3)
        return Loader(root)

    loader, got = make(), []
    while len(got) < 60:
        iterator = iter(loader)
        got += itertools.islice(iterator, 7)
        state = json.loads(json.dumps(loader.state_dict()))
        loader = make()
        loader.load_state_dict(state)
    assert sorted(got) == list(range(60))


def test_an_empty_state_is_no_snapshot() -> None:
    """torchdata does not take over a snapshot that is empty, and counts on."""

    class Stateless(Own):
        def get_state(self) -> dict[str, Any]:
            return {}

    node = Prefetcher(Stateless(9), 2)
    for _ in range(3):
        next(node)
    assert node.state_dict() == {"snapshot": {}, "steps_since_snapshot": 3}
    node.reset(node.state_dict())
    assert next(node) == 4


@pytest.mark.usefixtures("sidecar")
@pytest.mark.parametrize("stop_at", [1, 4, 5, 8, 9, 13])
def test_a_job_goes_on_with_nodes(stop_at: int, tmp_path: Path) -> None:
    def run(directory: Path, stop_at: int | None = None) -> list[Any]:
        source = ParallelMapper(SamplerWrapper(data.Order(15)), data.double, 2)
        loader = Loader(Prefetcher(Batcher(source, 3), 2))
        state, seen = {"n": 0}, []
        with bivouac.Job(directory, loader, state, steps=14, save_every=1) as job:
            for batch in job:
                state["n"] += 1
                seen.append(batch)
                if job.step + 1 == stop_at:
                    break
        return seen

    want = run(tmp_path / "unbroken")
    assert len(want) == 14 and want[0] != want[5]
    assert sorted(sum(want[5:10], [])) == list(range(0, 30, 2))
    got = run(tmp_path / "broken", stop_at)
    assert got[: stop_at - 1] + run(tmp_path / "broken") == want


def test_nodes_without_torch() -> None:
    if "torch" in sys.modules:
        pytest.skip("torch is imported")
    assert isinstance(weighted().state_dict()["weighted_sampler_state"]["g_state"], object)
    found = 0
    for path in sorted(VECTORS.glob("S27-weighted-*.json")):
        scenario = json.loads(path.read_text())
        args = {k: v for k, v in scenario["node"].items() if k not in ("node", "sources")}
        sources = {
            name: IterableWrapper(range(s.get("start", 0), s["n"]))
            for name, s in scenario["node"]["sources"].items()
        }
        loader: Loader[int] = Loader(MultiNodeWeightedSampler(sources, **args))
        script = zip(scenario["script"], scenario["outcomes"], strict=True)
        iterator: Any = None
        for entry, want in script:
            if entry[1] != "A" or entry[0] == "recheck":
                break
            if entry[0] == "iter":
                iterator = iter(loader)
            elif entry[0] in ("next", "drain"):
                most = entry[2] if entry[0] == "next" else None
                got = list(itertools.islice(iterator, most))
                assert got == want["batches"], path.name
            elif entry[0] == "state":
                state = loader.state_dict()["root"]["weighted_sampler_state"]
                recorded = want["state"]["root"]["weighted_sampler_state"]
                assert state["offset"] == recorded["offset"]
                digest = hashlib.sha256(state["g_state"].tobytes()).hexdigest()
                assert digest[:24] == recorded["g_state"]["blob"], path.name
                found += 1
    assert found > 20
    with pytest.raises(ImportError):
        nodes.PinMemory(numbers())
