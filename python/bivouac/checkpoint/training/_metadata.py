"""Descriptions of the steps of a run, and of the run."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, TypeVar

from bivouac._url import Location
from bivouac.checkpoint import _metadata

__all__ = ["CheckpointMetadata", "RootMetadata"]

T = TypeVar("T")


class CheckpointMetadata(_metadata.CheckpointMetadata[T]):
    """What is known of a step without reading its arrays."""

    def __init__(
        self,
        step: int,
        path: Location,
        *,
        metadata: T,
        init_timestamp_nsecs: int | None = None,
        commit_timestamp_nsecs: int | None = None,
        custom_metadata: Any = None,
        metrics: Any = None,
    ) -> None:
        """Make a description.

        Args:
          step: number of the step.
          path: directory of the step.
          metadata: description of the tree, or of each item by name; None in lists of steps.
          init_timestamp_nsecs: time when the save began, in nanoseconds since 1970.
          commit_timestamp_nsecs: time of the commit, in nanoseconds since 1970.
          custom_metadata: what the caller of the save gave.
          metrics: the metrics that were saved with the step; None if there are none.
        """
        super().__init__(
            path,
            metadata=metadata,
            init_timestamp_nsecs=init_timestamp_nsecs,
            commit_timestamp_nsecs=commit_timestamp_nsecs,
            custom_metadata=custom_metadata,
        )
        self._step = step
        self._metrics = metrics

    @property
    def step(self) -> int:
        """The number of the step."""
        return self._step

    @property
    def metrics(self) -> Any:
        """The metrics that were saved with the step; None if there are none."""
        return self._metrics

    @property
    def time(self) -> datetime.datetime:
        """The time of the commit, in UTC; the current time if it is not recorded."""
        return self.commit_timestamp or datetime.datetime.now(tz=datetime.timezone.utc)

    def _fields(self) -> dict[str, Any]:
        return {"step": self._step, **super()._fields(), "metrics": self._metrics}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RootMetadata:
    """What is known of a run.

    Attributes:
      directory: directory of the run.
      custom_metadata: what the first `Checkpointer` of the run was given; None if nothing.
    """

    directory: Location
    custom_metadata: Any = None
