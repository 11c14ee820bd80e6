"""Parallel external sources that DALI and Bivouac run alike, and what DALI made of them.

    python pipeline_parallel.py nvidia.dali FILE     record what DALI makes

Batches are lists of arrays: DALI 2.4.0 waits for ever for a batch that is one array.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pipeline_scenes

BATCH = 4


def sample(info: Any) -> Any:
    if info.iteration >= 3:
        raise StopIteration
    number = info.idx_in_epoch + 100 * info.epoch_idx
    return np.full((info.idx_in_batch + 1, 2), number, np.int32)


def two_of_sample(info: Any) -> Any:
    if info.idx_in_epoch >= 10:  # in the middle of a batch
        raise StopIteration
    place = np.array([info.iteration, info.idx_in_batch])
    return place, np.full((2, 3), info.epoch_idx, np.float32)


def of_number(number: int) -> Any:
    if number >= 4:
        raise StopIteration
    ragged = [np.full((1 + i, 2), 7 * number) for i in range(BATCH)]
    return [np.full(2, number, np.uint8)] * BATCH, ragged


def of_batch(info: Any) -> Any:
    if info.iteration == 2 + info.epoch_idx:
        raise StopIteration
    size = 1 + info.iteration
    return [np.array([info.iteration, info.epoch_idx, i], np.int16) for i in range(size)]


def generator(number: int = 3, first: int = 0) -> Iterator[Any]:
    for i in range(number):
        yield [np.full(1, first + i)] * BATCH


def longer() -> Iterator[Any]:
    yield from generator(5, 10)


class Batches:
    """An iterable that counts how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0

    def __iter__(self) -> Any:
        self.begun += 1
        return iter([[np.full(2, 10 * self.begun + i, np.uint16)] * BATCH for i in range(2)])


class Counter:
    """An iterator that goes on after its end."""

    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self.n += 1
        if self.n % 4 == 0:
            raise StopIteration
        return [np.full(1, self.n, np.int32)] * BATCH


def empty() -> Iterator[Any]:
    yield from ()


class Broken:
    """A function that raises at one batch."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self, number: int) -> Any:
        if number == self.at:
            raise LookupError("mine")
        return [np.full(1, number)] * BATCH


def sources() -> dict[str, list[tuple[Any, dict[str, Any]]]]:
    """Return the sources of each pipeline, with the arguments of external_source."""
    found: dict[str, list[tuple[Any, dict[str, Any]]]] = {
        "samples": [(sample, {"batch": False})],
        "samples of two": [(two_of_sample, {"batch": False, "num_outputs": 2})],
        "batches of two": [(of_number, {"batch": True, "num_outputs": 2, "layout": ["C", "HW"]})],
        "batch info": [(of_batch, {"batch": True, "batch_info": True})],
        "raises": [(Broken(2), {"batch": True})],
        "two functions": [
            (sample, {"batch": False}),
            (of_batch, {"batch": True, "batch_info": True}),
        ],
    }
    kinds = {"generator": generator, "iterable": Batches, "iterator": Counter, "empty": empty}
    for name, kind in kinds.items():
        for cycle in (None, "raise", "quiet"):
            source = kind() if isinstance(kind, type) else kind
            found[f"{name} {cycle}"] = [(source, {"batch": True, "cycle": cycle})]
    several: list[tuple[Any, dict[str, Any]]] = [
        (generator, {"batch": True, "cycle": "raise"}),
        (longer, {"batch": True, "cycle": "raise"}),
        (sample, {"batch": False}),
    ]
    found["several"] = several
    return found


def run(m: Any, name: str, depth: int = 1, parallel: bool = True, **options: Any) -> Any:
    """Return the batches of three epochs, of at most seven batches each."""
    prefetch = {"prefetch_queue_depth": depth} if parallel else {}

    @m.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, **options)
    def graph() -> Any:
        outputs: list[Any] = []
        for source, arguments in sources()[name]:
            given = {**arguments, **prefetch}
            made = m.fn.external_source(source=source, parallel=parallel, **given)
            outputs += made if isinstance(made, (list, tuple)) else [made]
        return tuple(outputs)

    pipe = graph()
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            for _ in range(7):
                try:
                    found.append(pipeline_scenes.told(pipe.run()))
                except StopIteration:
                    found.append("end")
                    pipe.reset()
                    break
                except Exception as err:
                    return [*found, isinstance(err, StopIteration), "mine" in str(err)]
    return found


if __name__ == "__main__":
    modules = pipeline_scenes.modules(sys.argv[1])
    made = {}
    for key in sources():
        made[key] = run(modules, key, py_num_workers=2)
        print(key, flush=True)
    lines = (f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in made.items())
    Path(sys.argv[2]).write_text("{\n" + ",\n".join(lines) + "\n}\n")
