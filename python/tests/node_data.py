"""Sources and functions for tests of nodes. They are here so that spawned processes find them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np


class Boom(RuntimeError):
    """An error of a function."""


class Odd(Exception):
    """An exception that needs two arguments."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} {b}")


class Named(Exception):
    """An exception whose text is an argument with a name."""

    message = "a text"

    def __init__(self, *, message: str) -> None:
        super().__init__(message)


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


class Reads:
    """A sequence that counts what is read of it."""

    def __init__(self, n: int) -> None:
        self.n, self.reads = n, 0

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        if i >= self.n:
            raise IndexError(i)
        self.reads += 1
        return i


class Order:
    """A sampler whose order depends on the epoch."""

    def __init__(self, n: int) -> None:
        self.n, self.epoch = n, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[int]:
        return iter([(i * 7 + self.epoch * 3) % self.n for i in range(self.n)])


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


def fail_key(x: Any) -> Any:
    """Raise a KeyError."""
    raise KeyError("a key")


def fail_oddly(x: Any) -> Any:
    """Raise an exception that cannot be made from a text."""
    raise Odd(1, 2)


def fail_named(x: Any) -> Any:
    """Raise an exception whose text has a name."""
    raise Named(message="named")


def leave(x: Any) -> Any:
    """End the program."""
    if x == 1:
        sys.exit("leaving")
    return x


def pid(x: Any) -> Any:
    """Return the process that the function runs in."""
    return os.getpid()


def die(x: Any) -> Any:
    """End the process at 4."""
    if x == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


class DieOnce:
    """A function that ends the process at some values, if a file for the value is not there."""

    def __init__(self, folder: str, values: list[int]) -> None:
        self.folder, self.values = folder, values

    def __call__(self, x: int) -> int:
        if x in self.values:
            note = os.path.join(self.folder, str(x))
            if not os.path.exists(note):
                open(note, "x").close()
                os._exit(3)
        return x


class Waits:
    """A function that waits at 0 until a file is there."""

    def __init__(self, note: str) -> None:
        self.note = note

    def __call__(self, x: Any) -> Any:
        while x == 0 and not os.path.exists(self.note):
            time.sleep(0.005)
        return x


class Slow:
    """A function that takes some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, x: Any) -> Any:
        time.sleep(self.seconds)
        return x


def local(x: Any) -> Any:
    """Return what pickle refuses at 2."""
    return (lambda: x) if x == 2 else x


def rows(i: int) -> dict[str, Any]:
    """Return arrays that pass in shared memory."""
    return {"id": i, "row": np.full(5000, i, np.int32)}


def add_one(sample: dict[str, Any]) -> dict[str, Any]:
    """Change an array in place, and return it with another one."""
    sample["row"] += 1
    return {**sample, "sum": np.array([int(sample["row"].sum())])}
