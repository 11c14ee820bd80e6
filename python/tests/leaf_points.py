"""Leaf handlers for tests, written for no package: the same classes work with Orbax."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from typing import Any

import numpy as np


@dataclasses.dataclass
class Point:
    """A leaf of a type of its own, though it looks like a container."""

    x: int
    y: int


@dataclasses.dataclass
class AbstractPoint:
    """A description of a Point."""

    digits: int | None = None


class PointHandler:
    """Keeps each point in a file of its own."""

    def __init__(self, *, context: Any = None) -> None:
        self.context = context

    async def serialize(self, params: Any, serialization_context: Any) -> Any:
        texts = {p.name: json.dumps(dataclasses.asdict(p.value)) for p in params}
        await asyncio.sleep(0)

        async def write() -> None:
            there = (await serialization_context.parent_dir.await_creation()) / "points"
            there.mkdir(exist_ok=True)
            for name, text in texts.items():
                (there / f"{name}.json").write_text(text)

        return write()

    async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
        async def read() -> list[Point]:
            out = []
            for p in params:
                point = self._read(deserialization_context, p.name)
                digits = getattr(p.value, "digits", None)
                if digits is not None:
                    point = Point(point.x % 10**digits, point.y % 10**digits)
                out.append(point)
            return out

        return read()

    async def metadata(self, params: Any, deserialization_context: Any) -> Any:
        found = [self._read(deserialization_context, p.name) for p in params]
        return [AbstractPoint(max(len(str(p.x)), len(str(p.y)))) for p in found]

    def _read(self, context: Any, name: str) -> Point:
        return Point(**json.loads((context.parent_dir / "points" / f"{name}.json").read_text()))


class Words:
    """A leaf whose handler keeps all leaves in one file."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and other.words == self.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Words{self.words}"


class AbstractWords:
    """A description of Words that has no fields."""


class WordsHandler:
    """Keeps all words in one file."""

    def __init__(self, *, context: Any = None) -> None:
        del context

    async def serialize(self, params: Any, serialization_context: Any) -> Any:
        text = json.dumps({p.name: p.value.words for p in params})

        async def write() -> None:
            there = await serialization_context.parent_dir.await_creation()
            (there / "words.json").write_text(text)

        return write()

    async def deserialize(self, params: Any, deserialization_context: Any) -> Any:
        async def read() -> list[Words]:
            words = json.loads((deserialization_context.parent_dir / "words.json").read_text())
            return [Words(*words[p.name]) for p in params]

        return read()

    async def metadata(self, params: Any, deserialization_context: Any) -> Any:
        raise NotImplementedError


class Slow(PointHandler):
    """Waits in its second phase, and fails where it is told to."""

    gate = threading.Event()
    fails = ""
    seen: list[Any] = []

    async def serialize(self, params: Any, serialization_context: Any) -> Any:
        self.seen.append(serialization_context.parent_dir.path)
        if self.fails == "first":
            raise LookupError("no room in the first phase")
        second = await super().serialize(params, serialization_context)

        async def wait() -> None:
            try:
                while not self.gate.is_set():
                    await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                self.seen.append("cancelled")
                second.close()
                raise
            self.seen.append(threading.current_thread().name)
            await second
            if self.fails == "second":
                raise LookupError("no room in the second phase")

        return wait()


def state() -> dict[str, Any]:
    """A tree with leaves of handlers among others."""
    return {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "p": [Point(1, 20), {"q": Point(3, 400)}],
        "s": "text",
        "n": 7,
    }


def abstract() -> dict[str, Any]:
    """What asks for the tree."""
    return {
        "w": np.zeros((2, 3), np.float32),
        "p": [AbstractPoint(1), {"q": AbstractPoint}],
        "s": "",
        "n": 0,
    }


def same(a: Any, b: Any) -> bool:
    """Report whether two trees are equal."""
    if isinstance(a, dict):
        return isinstance(b, dict) and sorted(a) == sorted(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and bool(np.array_equal(a, b))
    return bool(a == b)
