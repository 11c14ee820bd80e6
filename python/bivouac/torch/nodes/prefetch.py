"""Prefetcher: a node that is read ahead."""

from __future__ import annotations

from typing import Any

from bivouac import errors
from bivouac.torch.nodes._ahead import Ahead, Plan
from bivouac.torch.nodes.base_node import BaseNode, T

__all__ = ["Prefetcher"]


class Prefetcher(BaseNode[T]):
    """A Prefetcher reads its source ahead, in a thread.

    Args:
      source: the node that is read.
      prefetch_factor: most items that are read and not delivered.
      snapshot_frequency: items from snapshot to snapshot of the source. A resume reads the items
        since the last snapshot again.
    """

    _reads_ahead = True

    def __init__(
        self, source: BaseNode[T], prefetch_factor: int, snapshot_frequency: int = 1
    ) -> None:
        super().__init__()
        if prefetch_factor < 1:
            raise errors.Invalid(
                op="Prefetcher",
                subject="prefetch_factor",
                want="1 or more",
                got=str(prefetch_factor),
            )
        self.source = source
        self.prefetch_factor = prefetch_factor
        self.snapshot_frequency = snapshot_frequency
        self._it: Ahead[T] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if self._it is not None:
            self._it.close()
            self._it = None
        plan = Plan(
            name="Prefetcher",
            limit=self.prefetch_factor,
            every=self.snapshot_frequency,
            reading="in _populate_queue",
            starting="in _populate_queue startup for device",
        )
        self._it = Ahead(self.source, plan, initial_state)

    def next(self) -> T:
        return next(self._it)  # type: ignore[arg-type]

    def get_state(self) -> dict[str, Any]:
        assert self._it is not None
        return self._it.get_state()
