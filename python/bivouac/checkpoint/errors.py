"""Errors of checkpoints, under the names that Orbax gives them.

Each is also a `bivouac.errors.BivouacError`, so it has the fields want, got and remedy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from bivouac.errors import BivouacError, Busy, Exists, Invalid, NotFound, Unsupported

__all__ = [
    "AlreadyExistsError",
    "AlreadyRegisteredTypeError",
    "DeletionInProgressError",
    "DeletionRecoveryError",
    "InvalidLayoutError",
    "NoEntryError",
    "UnregisteredTypeError",
]


class InvalidLayoutError(Invalid):
    """The path holds no checkpoint of the wanted layout."""


class DeletionInProgressError(Busy):
    """The item is read or saved while its deletion has not finished."""


class DeletionRecoveryError(Busy):
    """The record of an interrupted deletion does not agree with what is stored."""


class UnregisteredTypeError(Unsupported, ValueError):
    """A leaf has a type without a handler."""


class NoEntryError(Unsupported, KeyError):
    """No handler takes the item."""

    def __str__(self) -> str:
        return self.text


class AlreadyExistsError(Exists):
    """The registry has an entry of that type or that name already."""


class AlreadyRegisteredTypeError(Exists):
    """The registry has another leaf handler of that type already."""


class NoCheckpointError(NotFound, InvalidLayoutError):
    """The path does not exist, so it holds no checkpoint."""


@contextlib.contextmanager
def translated(kinds: Mapping[type[BivouacError], type[BivouacError]]) -> Iterator[None]:
    """Raise errors of the server as the classes that Orbax's names belong to.

    Args:
      kinds: the class for each class of errors. Other errors stay as they are, except that a leaf
        without a handler is an `UnregisteredTypeError`.
    """
    try:
        yield
    except BivouacError as err:
        kind = kinds.get(type(err))
        if type(err) is Unsupported and "leaf_handler_registry" in err.remedy:
            kind = UnregisteredTypeError
        if kind is None or (kind is InvalidLayoutError and not _of_layout(err)):
            raise
        raise kind(err.text, **err._fields()) from None


def _of_layout(error: BivouacError) -> bool:
    """Return True if the error says that a path holds no checkpoint of the wanted layout."""
    return error.op == "checkpoint.Open" or "CheckpointLayout" in error.text


LAYOUT: dict[type[BivouacError], type[BivouacError]] = {
    NotFound: NoCheckpointError,
    Invalid: InvalidLayoutError,
}
"""The classes of errors of loads."""
