"""What the groups of options share: they can be copied, frozen, and written as JSON."""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Callable
from typing import Any, TypeVar

from bivouac.errors import Invalid, Unsupported

T = TypeVar("T")

LOCAL = {"local": True}
"""Metadata of a field that acts in this process and has no text form."""


class Options:
    """A group of options. It cannot be changed while the `Context` that has it is active."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, unless the context of this group is active."""
        active: Callable[[], bool] | None = self.__dict__.get("_active")
        if active is not None and active():
            raise RuntimeError(
                f"{type(self).__name__}.{name}: the options of an active Context cannot change"
                " (set them before the with statement)"
            )
        object.__setattr__(self, name, value)
        if "_made" in self.__dict__:
            self._check()

    def __post_init__(self) -> None:
        """Check the fields."""
        self._check()
        object.__setattr__(self, "_made", True)

    def _check(self) -> None:
        """Raise an error if a field has a value that cannot act."""


def clone(options: T, active: Callable[[], bool]) -> T:
    """Return a copy of a group. Its fields cannot be set while active() is true."""
    made = object.__new__(type(options))
    for f in dataclasses.fields(options):  # type: ignore[arg-type]
        value = getattr(options, f.name)
        if isinstance(value, Options):
            value = clone(value, active)
        elif isinstance(value, (list, set, dict)):
            value = copy.copy(value)
        object.__setattr__(made, f.name, value)
    object.__setattr__(made, "_made", True)
    object.__setattr__(made, "_active", active)
    return made


def as_json(options: Any) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as the server's ParseJSON takes them."""
    out: dict[str, Any] = {}
    for f in dataclasses.fields(options):
        if f.metadata.get("local"):
            continue
        value = getattr(options, f.name)
        if isinstance(value, Options):
            value = as_json(value)
            if not value:
                continue
        else:
            if f.default is not dataclasses.MISSING and value == f.default:
                continue
            if value is None and not f.metadata.get("null"):
                continue
            value = _plain(value)
        out[f.metadata.get("name", f.name)] = value
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def refuse(name: str, got: Any, reason: str) -> Unsupported:
    """Return the error of an option that cannot act."""
    return Unsupported(op="options", subject=name, got=repr(got), remedy=reason)


def bad(name: str, want: str, got: Any) -> Invalid:
    """Return the error of an option whose value makes no sense."""
    return Invalid(op="options", subject=name, want=want, got=repr(got))


def at_least(name: str, value: float | None, least: float) -> None:
    """Raise an error if a number is less than it may be. None passes."""
    if value is not None and (isinstance(value, bool) or value < least):
        raise bad(name, f"at least {least}", value)
