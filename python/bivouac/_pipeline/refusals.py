"""The errors of a graph that is wrong. Each is also the built-in error that DALI raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bivouac import errors

__all__ = [
    "BrokenGraph",
    "MixedTypes",
    "Unfed",
    "UnknownArgument",
    "Unmet",
    "WrongType",
    "WrongValue",
    "nearest",
]


class WrongType(errors.BivouacError, TypeError):
    """A value has a type that cannot stand where it is."""

    kind = "invalid"


class WrongValue(WrongType, ValueError):
    """A value of a type that can be right is wrong, or it is missing."""


class MixedTypes(WrongType, RuntimeError):
    """The samples of a batch have different types."""


class UnknownArgument(errors.BivouacError, KeyError):
    """An operator does not have an argument of this name."""

    kind = "invalid"


class Unfed(errors.Invalid, IndexError, RuntimeError):
    """An external source was not fed. It is an IndexError or a RuntimeError of DALI's executors."""


class Unmet(errors.Invalid, AssertionError):
    """The pipelines do not have what an iterator needs. DALI asserts it."""


class BrokenGraph(errors.BivouacError, RuntimeError):
    """The parts of a graph do not fit together."""

    kind = "invalid"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a remedy that proposes the most similar name, or ""."""
    found = difflib.get_close_matches(name, list(names), 1)
    return f"did you mean {found[0]!r}?" if found else ""
