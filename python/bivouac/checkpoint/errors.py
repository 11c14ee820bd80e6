"""Errors of checkpoints, under the names that Orbax gives them.

Each is also a `bivouac.errors.BivouacError`, so it has the fields want, got and remedy.
"""

from __future__ import annotations

from bivouac.errors import BivouacError, Busy, Exists, Invalid, NotFound, Unsupported

__all__ = [
    "AlreadyExistsError",
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
    """A leaf has a type that cannot be saved."""


class NoEntryError(Unsupported, KeyError):
    """No handler takes the item."""

    def __str__(self) -> str:
        return self.text


class AlreadyExistsError(Exists):
    """The registry has an entry of that type or that name already."""


class NoCheckpointError(NotFound, InvalidLayoutError):
    """The path does not exist, so it holds no checkpoint."""


def translate(
    error: BivouacError, kinds: dict[type[BivouacError], type[BivouacError]]
) -> BivouacError:
    """Return the error as the class that Orbax's name belongs to, or as it is.

    Args:
      error: an error of the server.
      kinds: the class for each class of errors.
    """
    kind = kinds.get(type(error))
    if kind is None or (kind is InvalidLayoutError and not _of_layout(error)):
        return error
    made = kind(error.text, **error._fields())
    made.__cause__ = error
    return made


def _of_layout(error: BivouacError) -> bool:
    """Return True if the error says that a path holds no checkpoint of the wanted layout."""
    return error.op == "checkpoint.Open" or "CheckpointLayout" in error.text


LAYOUT: dict[type[BivouacError], type[BivouacError]] = {
    NotFound: NoCheckpointError,
    Invalid: InvalidLayoutError,
}
"""The classes of errors of loads."""
