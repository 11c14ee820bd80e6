"""The checks of the arguments of a job."""

from __future__ import annotations

import os

from bivouac import _url, errors

__all__ = ["board", "check"]


def check(grace: float, **numbers: int | None) -> None:
    """Raise an error for the first argument that makes no sense. Each number is at least 1.

    Raises:
      Invalid: an argument makes no sense; it is a ValueError.
    """
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or value < 1):
            raise errors.Invalid(
                op="bivouac.Job", subject=name, want="at least 1, or None", got=repr(value)
            )
    if grace < 0:
        raise errors.Invalid(op="bivouac.Job", subject="grace", want="seconds", got=repr(grace))


def board(directory: str | os.PathLike[str] | None, journal: bool) -> str | None:
    """Return the absolute directory of the event files, or None.

    Raises:
      Invalid: there is no journal of which they could be made.
    """
    if directory is None:
        return None
    if not journal:
        raise errors.Invalid(
            op="bivouac.Job",
            subject="tensorboard",
            want="a job with a journal, of which the event files are made",
            got="journal=False",
        )
    return _url.absolute(directory)
