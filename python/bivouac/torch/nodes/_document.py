"""Reading states: members that must be there, and sources that go on from them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

from bivouac import errors
from bivouac.torch._samplers import RandomIterator

__all__ = ["NoMember", "fast_forward", "member", "too_short"]


class NoMember(errors.Mismatch, KeyError):
    """A state lacks a member: it is the state of another node."""


def member(state: Any, name: str, node: object) -> Any:
    """Return a member of the state of a node. `node` is the node, or the name of its class."""
    try:
        return state[name]
    except (KeyError, TypeError, IndexError):
        has = ", ".join(map(repr, state)) if isinstance(state, dict) else type(state).__name__
        raise NoMember(
            op=f"{node if isinstance(node, str) else type(node).__name__}.reset",
            subject="state",
            want=f"a member {name!r}",
            got=has or "an empty state",
            remedy="load the state of a node with the same sources and arguments",
        ) from None


def too_short(wanted: int, found: int) -> ValueError:
    """Return the error of a source that has fewer items than its state says."""
    return ValueError(
        f"Tried to fast-forward {wanted} items during init but hit StopIteration after {found} "
        "items, this is likely a bug or malformed state_dict"
    )


class _Items:
    """A sequence without __iter__."""

    def __getitem__(self, i: int) -> int:
        return i


_SEQUENCES: list[Any] = [[], (), range(0), range(1 << 70), "", "\xe9", b"", bytearray(), _Items()]
_PLACED = frozenset(type(iter(value)) for value in _SEQUENCES)
"""Types of iterators over sequences. They take their place without reading what is before it."""


def fast_forward(iterator: Iterator[Any], n: int) -> None:
    """Leave out the first n items of a new iterator, or raise ValueError if it has fewer."""
    if n <= 0:
        return
    if type(iterator) in _PLACED:
        most: Any = iterator.__length_hint__()  # type: ignore[attr-defined]
        if most is not NotImplemented:  # else what it iterates over has no length
            if most < n:
                raise too_short(n, most)
            iterator.__setstate__(n)  # type: ignore[attr-defined]
            return
    if type(iterator) is RandomIterator:
        found = iterator.skip(n)
    else:
        counter = itertools.count()
        collections.deque(zip(itertools.islice(iterator, n), counter, strict=False), maxlen=0)
        found = next(counter)
    if found < n:
        raise too_short(n, found)
