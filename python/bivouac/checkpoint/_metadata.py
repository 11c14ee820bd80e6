"""CheckpointMetadata, the description of a checkpoint."""

from __future__ import annotations

import datetime
from typing import Any, Generic, TypeVar

from bivouac._url import Location

__all__ = ["CheckpointMetadata", "PyTreeMetadata"]

T = TypeVar("T")

PyTreeMetadata = Any
"""A tree whose leaves describe the leaves of a checkpoint. It is an alias for annotations."""


def at(nsecs: int | None) -> datetime.datetime | None:
    """Return the time of a number of nanoseconds since 1970, in UTC, or None."""
    if nsecs is None:
        return None
    return datetime.datetime.fromtimestamp(nsecs / 1e9, tz=datetime.timezone.utc)


class CheckpointMetadata(Generic[T]):
    """What is known of a checkpoint without reading its arrays.

    An object of this class is also an abstract tree: `load(path, metadata(path))` loads everything
    as it was saved.
    """

    def __init__(
        self,
        path: Location,
        *,
        metadata: T,
        init_timestamp_nsecs: int | None = None,
        commit_timestamp_nsecs: int | None = None,
        custom_metadata: Any = None,
    ) -> None:
        """Make a description.

        Args:
          path: directory of the checkpoint.
          metadata: description of the tree, or of each item by name.
          init_timestamp_nsecs: time when the save began, in nanoseconds since 1970.
          commit_timestamp_nsecs: time when the save was committed, in nanoseconds since 1970.
          custom_metadata: what the caller of the save gave.
        """
        self._path = path
        self._metadata = metadata
        self._init = init_timestamp_nsecs
        self._commit = commit_timestamp_nsecs
        self._custom = custom_metadata

    @property
    def path(self) -> Location:
        """The directory of the checkpoint: a path, or a URL of `bivouac.checkpoint.path`."""
        return self._path

    @property
    def metadata(self) -> T:
        """The description of the tree, or of each item by name."""
        return self._metadata

    @property
    def init_timestamp_nsecs(self) -> int | None:
        """The time when the save began, in nanoseconds since 1970; None if it is not recorded."""
        return self._init

    @property
    def commit_timestamp_nsecs(self) -> int | None:
        """The time of the commit, in nanoseconds since 1970; None if it is not recorded."""
        return self._commit

    @property
    def init_timestamp(self) -> datetime.datetime | None:
        """The time when the save began, in UTC; None if it is not recorded."""
        return at(self._init)

    @property
    def commit_timestamp(self) -> datetime.datetime | None:
        """The time of the commit, in UTC; None if it is not recorded."""
        return at(self._commit)

    @property
    def custom_metadata(self) -> Any:
        """What the caller of the save gave as custom_metadata; None if nothing."""
        return self._custom

    def _fields(self) -> dict[str, Any]:
        return {
            "path": str(self._path),
            "metadata": self._metadata,
            "init_timestamp_nsecs": self._init,
            "commit_timestamp_nsecs": self._commit,
            "custom_metadata": self._custom,
        }

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in self._fields().items())
        return f"{type(self).__name__}({fields})"
