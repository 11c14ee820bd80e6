"""Paths: types of arguments, URLs of buckets, and directories that may not exist yet."""

from __future__ import annotations

import pathlib
from typing import Protocol, TypeAlias, runtime_checkable

from bivouac._url import URL
from bivouac.checkpoint.path import step

__all__ = ["URL", "Path", "PathAwaitingCreation", "PathLike", "step"]

Path: TypeAlias = pathlib.Path
PathLike: TypeAlias = "pathlib.Path | str"


@runtime_checkable
class PathAwaitingCreation(Protocol):
    """A path whose directory may not exist yet. A handler's save receives one.

    In Bivouac the directory exists from the start. The protocol is Orbax's, so a handler written
    for Orbax works with both.
    """

    def __truediv__(self, other: PathLike) -> PathAwaitingCreation:
        """Return the path of an entry below this one."""
        ...

    @property
    def path(self) -> Path:
        """The path, which may not exist."""
        ...

    async def await_creation(self) -> Path:
        """Wait until the directory exists, and return its path."""
        ...
