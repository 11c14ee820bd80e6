"""Data sets, samplers and functions of the recorded scenarios of torchdata.

README.md of the vectors describes them. The classes are those that the recordings were made with.
"""

from __future__ import annotations

import collections
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

from bivouac.torch import StatefulDataLoader
from bivouac.torch import BatchSampler as OwnBatchSampler
from bivouac.torch import RandomSampler as OwnRandomSampler
from bivouac.torch import StatefulDistributedSampler


class Boom(RuntimeError):
    """An error of a data set or a function."""


ERRORS: dict[str, type[Exception]] = {
    "ValueError": ValueError,
    "KeyError": KeyError,
    "IndexError": IndexError,
    "StopIteration": StopIteration,
    "Boom": Boom,
}
Pair = collections.namedtuple("Pair", ["x", "y"])


def item_of(form: str, i: int) -> Any:
    """Return item i in a form."""
    forms: dict[str, Callable[[], Any]] = {
        "int": lambda: i,
        "dict": lambda: {"id": i, "strid": f"id_{i}", "list": [i, i + 1, i + 2], "half": i / 2},
        "float": lambda: i + 0.5,
        "str": lambda: f"s{i}",
        "bytes": lambda: bytes([i % 256]),
        "bool": lambda: i % 2 == 0,
        "tuple": lambda: (i, f"s{i}"),
        "list": lambda: [i, float(i)],
        "namedtuple": lambda: Pair(i, -i),
        "numpy": lambda: np.arange(3, dtype=np.float32) + i,
        "numpy_scalar": lambda: np.float64(i),
        "numpy_i16": lambda: np.array([i], dtype=np.int16),
        "tensor": lambda: torch.full((2, 2), i, dtype=torch.int32),
        "scalar_tensor": lambda: torch.tensor(i, dtype=torch.float32),
        "ragged": lambda: [0] * (1 + i % 2),
        "ragged_tensor": lambda: torch.zeros(1 + i % 2),
        "none": lambda: None,
        "nested": lambda: {"a": [torch.tensor([i]), {"b": (i, "x")}]},
        "object": lambda: Boom,
    }
    return forms[form]()


class Mapped(Dataset):  # type: ignore[type-arg]
    """A map-style data set without a state."""

    def __init__(self, d: dict[str, Any]) -> None:
        self.d, self.n, self.calls = d, d["n"], 0

    def __len__(self) -> int:
        return int(self.n)

    def __getitem__(self, i: int) -> Any:
        d = self.d
        if i in d.get("slow", []):
            time.sleep(d["slow_ms"] / 1000)
        if i in d.get("fail_at", []):
            raise ERRORS[d.get("exc", "ValueError")](f"failing at {i}")
        if i in d.get("exit_at", []):
            os._exit(1)
        self.calls += 1
        if d.get("item") == "seed":
            return seeds()
        return item_of(d.get("item", "int"), i)


def seeds() -> dict[str, Any]:
    """Return the seeds of the worker, and the next numbers of its generators."""
    w: Any = get_worker_info()
    return {
        "worker": w.id,
        "num_workers": w.num_workers,
        "seed": w.seed,
        "torch": torch.initial_seed(),
        "torch_i64": torch.empty((), dtype=torch.int64).random_().item(),
        "python_bits": random.getrandbits(32),
        "numpy_u32": int(np.random.randint(0, 2**32, dtype=np.uint32)),
    }


class Bulk(Mapped):
    """A map-style data set that reads a batch at a time."""

    def __getitems__(self, ids: list[int]) -> list[Any]:
        return [("bulk", len(ids), i) for i in ids]


class StatefulMapped(Mapped):
    """A map-style data set with a state."""

    def state_dict(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.calls = state["calls"]


def shard(d: dict[str, Any]) -> list[int]:
    """Return the items of this worker."""
    w = get_worker_info()
    at, of = (w.id, w.num_workers) if w else (0, 1)
    if "sizes" in d:
        first = sum(d["sizes"][:at])
        return list(range(first, first + d["sizes"][at]))
    n, how = d["n"], d.get("shard", "stride")
    if how == "none":
        return list(range(n))
    if how == "block":
        size = -(-n // of)
        return list(range(at * size, min(n, (at + 1) * size)))
    return list(range(at, n, of))


class Items:
    """An iterator without a state."""

    def __init__(self, d: dict[str, Any], start: int = 0, epoch: int | None = None) -> None:
        self.d, self.ids, self.i, self.epoch = d, shard(d), start, epoch
        self.log: list[int] = []
        if d.get("fail_init"):
            raise Boom("failing in iter()")

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        d = self.d
        if self.i >= len(self.ids):
            raise StopIteration
        value = self.ids[self.i]
        if value in d.get("fail_at", []):
            self.i += 1
            raise ERRORS[d.get("exc", "ValueError")](f"failing at {value}")
        if value in d.get("slow", []):
            time.sleep(d["slow_ms"] / 1000)
        self.i += 1
        self.log.append(value)
        return value if self.epoch is None else {"epoch": self.epoch, "id": value}


class StatefulItems(Items):
    """An iterator with a state."""

    def state_dict(self) -> dict[str, Any]:
        period = self.d.get("periodic")
        state: dict[str, Any] = {"i": self.i - self.i % period if period else self.i}
        if self.d.get("grow"):
            state["log"] = list(self.log)
            state["nest"] = {f"k{j}": j for j in self.log}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]
        self.log = list(state.get("log", []))


class IterPlain(IterableDataset):  # type: ignore[type-arg]
    """An iterable without a state."""

    def __init__(self, d: dict[str, Any]) -> None:
        self.d, self.epoch = d, -1

    def new(self, cls: type[Items], start: int = 0) -> Items:
        if self.d.get("epoch"):
            self.epoch += 1
            return cls(self.d, start, self.epoch)
        return cls(self.d, start)

    def __iter__(self) -> Iterator[Any]:
        items = self.new(Items)
        return (x for x in items)


class IterPlainLen(IterPlain):
    """An iterable that announces a length."""

    def __len__(self) -> int:
        return int(self.d["len"])


class WithIterator(IterPlain):
    """An iterable whose iterator has a state."""

    def __iter__(self) -> Iterator[Any]:
        return self.new(StatefulItems)


class WithState(IterPlain):
    """An iterable with a state, whose iterator has none."""

    def __init__(self, d: dict[str, Any]) -> None:
        super().__init__(d)
        self.i = 0

    def __iter__(self) -> Iterator[Any]:
        items = self.new(Items, self.i)
        for value in items:
            self.i = items.i
            yield value
        self.i = 0

    def state_dict(self) -> dict[str, Any]:
        return {"i": self.i, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]
        self.epoch = state["epoch"] - 1 if self.i else state["epoch"]


class WithBoth(WithIterator):
    """An iterable with a state, whose iterator has one, too."""

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"] - (1 if self.d.get("epoch") else 0)


class Itself(IterableDataset):  # type: ignore[type-arg]
    """An iterable that is its own iterator."""

    def __init__(self, d: dict[str, Any]) -> None:
        self.d, self.i = d, 0
        self.ids: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        self.ids = shard(self.d)
        if self.i >= len(self.ids):
            self.i = 0
        return self  # type: ignore[return-value]

    def __next__(self) -> int:
        if self.i >= len(self.ids):
            raise StopIteration
        self.i += 1
        return self.ids[self.i - 1]

    def state_dict(self) -> dict[str, Any]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]


DATASETS: dict[str, Any] = {
    "map": Mapped,
    "map_stateful": StatefulMapped,
    "map_bulk": Bulk,
    "iter": IterPlain,
    "iter_len": IterPlainLen,
    "iter_iterator": WithIterator,
    "iter_dataset": WithState,
    "iter_both": WithBoth,
    "iter_self": Itself,
}


class ListSampler:
    """A sampler over a list."""

    def __init__(self, ids: list[Any]) -> None:
        self.ids = ids

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


class StatefulListSampler(ListSampler):
    """A sampler with a state, whose iterator has none."""

    def __init__(self, ids: list[Any]) -> None:
        super().__init__(ids)
        self.i = 0

    def __iter__(self) -> Iterator[Any]:
        while self.i < len(self.ids):
            self.i += 1
            yield self.ids[self.i - 1]
        self.i = 0

    def state_dict(self) -> dict[str, Any]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]


class ListIterator:
    """An iterator over a list, with a state."""

    def __init__(self, ids: list[Any]) -> None:
        self.ids, self.i = ids, 0

    def __iter__(self) -> ListIterator:
        return self

    def __next__(self) -> Any:
        if self.i >= len(self.ids):
            raise StopIteration
        self.i += 1
        return self.ids[self.i - 1]

    def state_dict(self) -> dict[str, Any]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.i = state["i"]


class IteratorListSampler(ListSampler):
    """A sampler whose iterator has a state."""

    def __iter__(self) -> Iterator[Any]:
        return ListIterator(self.ids)


def generator(seed: int | None) -> Any:
    """Return a generator of torch, or None."""
    return None if seed is None else torch.Generator().manual_seed(seed)


def sampler_of(s: dict[str, Any], data: Any) -> Any:
    """Return the sampler of a scenario."""
    kind, g = s["kind"], generator(s.get("seed"))
    drawn = (s.get("replacement", False), s.get("num_samples"))
    lists = {
        "list": ListSampler,
        "plain_list": lambda ids: ids,
        "stateful_list": StatefulListSampler,
        "iter_stateful_list": IteratorListSampler,
    }
    if kind in lists:
        return lists[kind](s["list"])
    if kind == "sequential":
        return SequentialSampler(data)
    if kind == "random":
        return OwnRandomSampler(data, *drawn, g)
    if kind == "torch_random":
        return RandomSampler(data, *drawn, g)
    if kind == "subset_random":
        return SubsetRandomSampler(s["indices"], g)
    if kind == "weighted":
        return WeightedRandomSampler(s["weights"], s["num_samples"], s.get("replacement", True), g)
    if kind in ("distributed", "torch_distributed"):
        cls = StatefulDistributedSampler if kind == "distributed" else DistributedSampler
        spread = (s["num_replicas"], s["rank"], s.get("shuffle", True), s.get("dseed", 0))
        return cls(data, *spread, s.get("drop_last", False))
    assert kind in ("batch", "torch_batch"), kind
    batch: Any = OwnBatchSampler if kind == "batch" else BatchSampler
    return batch(sampler_of(s["sampler"], data), s["batch_size"], s["drop_last"])


def identity(x: Any) -> Any:
    """Return the samples as they are."""
    return x


def fail_collate(_: Any) -> Any:
    """Raise an error."""
    raise Boom("failing in collate")


def set_seed(worker: int) -> None:
    """Seed torch in a worker."""
    torch.manual_seed(1000 + worker)


def fail_init(worker: int) -> None:
    """Raise an error in a worker."""
    raise Boom(f"failing in worker_init_fn {worker}")


FUNCTIONS = {
    "collate_fn": {"identity": identity, "fail": fail_collate},
    "worker_init_fn": {"set_seed": set_seed, "fail": fail_init},
}


def build(scenario: dict[str, Any], over: dict[str, Any], loader: Any = StatefulDataLoader) -> Any:
    """Return the loader of an entry "new"."""
    data = DATASETS[scenario["dataset"]["kind"]](scenario["dataset"])
    args = {**scenario.get("loader", {}), **over}
    for name in ("sampler", "batch_sampler"):
        if name in args:
            args[name] = sampler_of(args[name], data)
    if "generator_seed" in args:
        args["generator"] = generator(args.pop("generator_seed"))
    for name, functions in FUNCTIONS.items():
        if name in args:
            args[name] = functions[args[name]]
    return loader(data, **args)
