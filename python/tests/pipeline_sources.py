"""Sources of external sources, by name. Each gives int32 batches of two samples."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

BATCH = 2
EPOCHS, MOST = 3, 5


def batch(value: int) -> Any:
    return np.full((BATCH, 1), value, np.int32)


def sample(value: int) -> Any:
    return np.full((1,), value, np.int32)


def generator() -> Iterator[Any]:
    yield from (batch(i) for i in range(3))


class Iterable:
    def __iter__(self) -> Iterator[Any]:
        return generator()


class Counter:
    """An iterator that is its own iterable."""

    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> Any:
        self.n += 1
        if self.n % 4 == 0:
            raise StopIteration
        return batch(self.n)


class Function:
    def __call__(self, index: int) -> Any:
        if index == 3:
            raise StopIteration
        return batch(10 + index)


class Generators:
    def __call__(self) -> Iterator[Any]:
        return (yield from generator())


def counting() -> Any:
    state = iter(range(100))

    def function() -> Any:
        return batch(next(state))

    return function


def of_batch(info: Any) -> Any:
    if info.iteration == 2 + info.epoch_idx:
        raise StopIteration
    return batch(info.epoch_idx * 100 + info.iteration)


def of_sample(info: Any) -> Any:
    if info.idx_in_epoch >= 5:
        raise StopIteration
    values = info.epoch_idx, info.iteration, info.idx_in_batch, info.idx_in_epoch
    return sample(int("".join(str(v) for v in values)))


def plus(index: int, base: int) -> Any:
    return batch(base + index)


def sources() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the sources with the other arguments of external_source."""
    batches = [batch(i) for i in range(3)]
    out: dict[str, tuple[Any, dict[str, Any]]] = {}
    for cycle in (None, False, "no", True, "quiet", "raise"):
        out[f"list {cycle}"] = (list(batches), {"cycle": cycle})
        out[f"generator function {cycle}"] = (generator, {"cycle": cycle})
        out[f"iterable {cycle}"] = (Iterable(), {"cycle": cycle})
        out[f"iterator {cycle}"] = (Counter(), {"cycle": cycle})
        out[f"object of generators {cycle}"] = (Generators(), {"cycle": cycle})
        out[f"empty {cycle}"] = ([], {"cycle": cycle})
    out |= {
        "generator": (generator(), {}),
        "generator that cycles": (generator(), {"cycle": True}),
        "function": (counting(), {}),
        "function that cycles": (counting(), {"cycle": True}),
        "function that does not cycle": (counting(), {"cycle": False}),
        "function of index": (Function(), {}),
        "method": (Function().__call__, {}),
        "partial": (functools.partial(plus, base=50), {}),
        "lambda with default": (lambda i=7: batch(i), {}),
        "function of two": (lambda a, b: batch(0), {}),
        "function of many": (lambda *a: batch(0), {}),
        "function of names": (lambda **k: batch(0), {}),
        "number": (3, {}),
        "cycle of no name": (list(batches), {"cycle": "yes"}),
        "batch info": (of_batch, {"batch_info": True}),
        "samples": (of_sample, {"batch": False}),
        "samples of a list": ([sample(i) for i in range(5)], {"batch": False, "cycle": "raise"}),
        "samples that cycle": ([sample(i) for i in range(5)], {"batch": False, "cycle": True}),
        "nothing that cycles": (None, {"cycle": True}),
    }
    return out
