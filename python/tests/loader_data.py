"""Data sets for the tests of workers. Processes that are spawned import them from here."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bivouac.torch import default_collate, get_sample_seed, get_worker_info


class Numbers:
    """A map-style data set of numbers."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        return i


class Rows(Numbers):
    """A map-style data set of large arrays."""

    def __init__(self, n: int, size: int = 5000) -> None:
        super().__init__(n)
        self.size = size

    def __getitem__(self, i: int) -> Any:
        return {"id": i, "row": np.full(self.size, i, np.int32), "text": f"s{i}"}


class Counted(Numbers):
    """A map-style data set whose state is how many items it gave."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.calls = 0

    def __getitem__(self, i: int) -> int:
        self.calls += 1
        return i

    def state_dict(self) -> dict[str, int]:
        return {"calls": self.calls}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.calls = state["calls"]


class Mortal(Numbers):
    """A map-style data set that kills its worker at an item, once if there is a file to note it."""

    def __init__(self, n: int, at: int, note: str = "") -> None:
        super().__init__(n)
        self.at, self.note = at, note

    def __getitem__(self, i: int) -> int:
        if i == self.at and not (self.note and os.path.exists(self.note)):
            if self.note:
                with open(self.note, "w"):
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
        return i


class Augmented(Numbers):
    """A map-style data set of what the global generators draw, and of the seed of the sample."""

    def __getitem__(self, i: int) -> Any:
        drawn: list[Any] = [i, get_sample_seed(), random.random(), np.random.random()]
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            drawn.append(torch.rand(()).item())
        return tuple(drawn)


class MortalAugmented(Augmented):
    """The same. It kills its worker at an item, once."""

    def __init__(self, n: int, at: int, note: str) -> None:
        super().__init__(n)
        self.at, self.note = at, note

    def __getitem__(self, i: int) -> Any:
        if i == self.at and not os.path.exists(self.note):
            with open(self.note, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


class Printed(Numbers):
    """A map-style data set with a fingerprint."""

    def __init__(self, n: int, fingerprint: str) -> None:
        super().__init__(n)
        self.fingerprint = fingerprint


class Turning:
    """A sampler that is read by position: some ids, in odd epochs from behind."""

    def __init__(self, ids: list[int]) -> None:
        self.ids, self.epoch = ids, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i: int) -> int:
        return self.ids[-1 - i] if self.epoch % 2 else self.ids[i]


def share(n: int) -> range:
    """Return the items of this worker."""
    info = get_worker_info()
    return range(n) if info is None else range(info.id, n, info.num_workers)


class Stream:
    """An iterable without a state."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return (i for i in share(self.n))


class Place:
    """An iterator with a state."""

    def __init__(self, ids: range) -> None:
        self.ids, self.i = ids, 0

    def __iter__(self) -> Place:
        return self

    def __next__(self) -> int:
        if self.i >= len(self.ids):
            raise StopIteration
        self.i += 1
        return self.ids[self.i - 1]

    def state_dict(self) -> dict[str, int]:
        return {"i": self.i}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.i = state["i"]


class StatefulStream(Stream):
    """An iterable whose iterator has a state."""

    def __iter__(self) -> Iterator[int]:
        return Place(share(self.n))


class Fails(Numbers):
    """A map-style data set with an item that cannot be read."""

    def __getitem__(self, i: int) -> int:
        if i == 5:
            raise LookupError("no item 5")
        return i


class Odd(Exception):
    """An exception that needs two arguments."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} {b}")


class FailsOddly(Numbers):
    """A map-style data set that raises an exception with other arguments than a text."""

    def __getitem__(self, i: int) -> int:
        raise Odd(1, 2)


class Waits(Numbers):
    """A map-style data set whose item 0 waits for a file."""

    def __init__(self, n: int, note: str) -> None:
        super().__init__(n)
        self.note = note

    def __getitem__(self, i: int) -> int:
        while i == 0 and not os.path.exists(self.note):
            time.sleep(0.005)
        return i


class Sleeps(Numbers):
    """A map-style data set that takes long."""

    def __getitem__(self, i: int) -> int:
        time.sleep(0.7)
        return i


class Long(Numbers):
    """A map-style data set of long texts, which do not fit into a socket."""

    def __getitem__(self, i: int) -> str:
        return chr(65 + i % 26) * 300_000


class Caches(Numbers):
    """A map-style data set that keeps what it has collated."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.kept: dict[int, Any] = {}

    def __getitem__(self, i: int) -> Any:
        if i % 8 not in self.kept:
            rows = [np.full(4000, i % 8, np.int32) for _ in range(2)]
            self.kept[i % 8] = default_collate(rows)
        return self.kept[i % 8]


def who(_: Any) -> tuple[int, int, int]:
    """Return what the worker knows of itself, instead of a batch."""
    info = get_worker_info()
    assert info is not None
    return info.id, info.num_workers, info.seed


def keep(batch: Any) -> Any:
    """Return the samples as they are."""
    return batch


def fail(worker: int) -> None:
    """Raise an error at the beginning of a worker."""
    raise ValueError(f"worker {worker} cannot begin")


class Drawing(StatefulStream):
    """An iterable of what the generators draw, and of the stream. Its iterator has a state."""

    def __iter__(self) -> Iterator[Any]:
        return DrawingPlace(share(self.n))


class DrawingPlace(Place):
    """Its iterator."""

    def __next__(self) -> Any:
        i = super().__next__()
        info = get_worker_info()
        assert info is not None
        return i, info.id, info.num_workers, get_sample_seed(), random.random(), np.random.random()


class Passes(Drawing):
    """An iterable that has a state itself: how many passes have ended. They shift the items."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        return PassingPlace(self)

    def state_dict(self) -> dict[str, int]:
        return {"passes": self.passes}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.passes = state["passes"]


class PassingPlace(DrawingPlace):
    """Its iterator."""

    def __init__(self, dataset: Passes) -> None:
        super().__init__(share(dataset.n))
        self.dataset, self.shift, self.ended = dataset, 1000 * dataset.passes, False

    def __next__(self) -> Any:
        try:
            drawn = super().__next__()
        except StopIteration:
            self.dataset.passes += not self.ended
            self.ended = True
            raise
        return drawn[0] + self.shift, *drawn[1:]


class Itself:
    """An iterable that is its own iterator, with passes as above."""

    def __init__(self, n: int) -> None:
        self.n, self.passes, self.i = n, 0, 0
        self.ids = range(0)

    def __iter__(self) -> Itself:
        self.passes += 1
        self.i, self.ids = 0, share(self.n)
        return self

    def __next__(self) -> Any:
        if self.i >= len(self.ids):
            raise StopIteration
        self.i += 1
        return self.ids[self.i - 1] + 1000 * self.passes, get_sample_seed(), random.random()

    def state_dict(self) -> dict[str, int]:
        return {"passes": self.passes, "i": self.i}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.passes, self.i = state["passes"], state["i"]
        self.ids = share(self.n)


class MortalDrawing(Drawing):
    """A Drawing that kills its worker at an item, once."""

    def __init__(self, n: int, at: int, note: str) -> None:
        super().__init__(n)
        self.at, self.note = at, note

    def __iter__(self) -> Iterator[Any]:
        return MortalPlace(share(self.n), self.at, self.note)


class MortalPlace(DrawingPlace):
    """Its iterator."""

    def __init__(self, ids: range, at: int, note: str) -> None:
        super().__init__(ids)
        self.at, self.note = at, note

    def __next__(self) -> Any:
        if self.i < len(self.ids) and self.ids[self.i] == self.at and not os.path.exists(self.note):
            with open(self.note, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__next__()


class FailingDrawing(Drawing):
    """A Drawing that raises an error at an item, once."""

    def __init__(self, n: int, at: int, note: str) -> None:
        super().__init__(n)
        self.at, self.note = at, note

    def __iter__(self) -> Iterator[Any]:
        return FailingPlace(share(self.n), self.at, self.note)


class FailingPlace(MortalPlace):
    """Its iterator."""

    def __next__(self) -> Any:
        if self.i < len(self.ids) and self.ids[self.i] == self.at and not os.path.exists(self.note):
            with open(self.note, "w"):
                pass
            raise LookupError(f"no item {self.at}")
        return super().__next__()
