"""Batcher and Unbatcher: items to lists, and lists to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bivouac import errors
from bivouac.torch.nodes._document import member
from bivouac.torch.nodes.base_node import BaseNode, T

__all__ = ["Batcher", "Unbatcher"]


class Batcher(BaseNode[list[T]]):
    """A Batcher yields lists of the items of its source.

    An error of the source, or Ctrl-C, loses no items: the list is finished by the next call. The
    state is then the one before the list, if the source reads ahead in threads.

    Args:
      source: the node that gives the items.
      batch_size: how many items a list has.
      drop_last: leave out a last list that is shorter.
    """

    SOURCE_KEY = "source"

    def __init__(self, source: BaseNode[T], batch_size: int, drop_last: bool = True) -> None:
        super().__init__()
        if batch_size < 1:
            raise errors.Invalid(
                op="Batcher", subject="batch_size", want="1 or more", got=str(batch_size)
            )
        self.source = source
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._part: list[T] = []  # of a list that an error or Ctrl-C has interrupted
        self._before: dict[str, Any] | None = None  # the state of the source before the list

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._part, self._before = [], None
        if initial_state is None:
            self.source.reset()
        else:
            self.source.reset(member(initial_state, self.SOURCE_KEY, self))

    def next(self) -> list[T]:
        source, batch = self.source, self._part
        if not batch and getattr(source, "_reads_ahead", False):
            self._before = source.state_dict()  # it has the state at hand
        ended = False
        try:
            while len(batch) < self.batch_size:
                batch.append(next(source))
        except StopIteration:
            ended = True
        self._part, self._before = [], None
        if ended and (self.drop_last or not batch):
            raise StopIteration
        return batch

    def get_state(self) -> dict[str, Any]:
        if self._part and self._before is not None:
            return {self.SOURCE_KEY: self._before}
        return {self.SOURCE_KEY: self.source.state_dict()}


class Unbatcher(BaseNode[T]):
    """An Unbatcher yields the items of the lists of its source one by one.

    A resume reads the list again that was under way.

    Args:
      source: the node that gives the lists, or other sequences.
    """

    SOURCE_KEY = "source"
    BATCH_IDX_KEY = "batch_idx"

    def __init__(self, source: BaseNode[Sequence[T]]) -> None:
        super().__init__()
        self.source = source
        self._batch: Sequence[T] = []
        self._batch_idx = 0
        self._before: dict[str, Any] | None = None  # the state of the source before the list

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._batch, self._batch_idx, self._before = [], 0, None
        if initial_state is None:
            self.source.reset()
            return
        before = member(initial_state, self.SOURCE_KEY, self)
        at = member(initial_state, self.BATCH_IDX_KEY, self)
        self.source.reset(before)
        self._before = before
        try:
            self._batch = next(self.source)
        except StopIteration:
            return
        self._batch_idx = at

    def next(self) -> T:
        while self._batch_idx >= len(self._batch):
            before = self.source.state_dict()
            try:
                batch = next(self.source)
            except StopIteration:
                self._before = before
                raise
            self._before, self._batch, self._batch_idx = before, batch, 0
        self._batch_idx += 1
        return self._batch[self._batch_idx - 1]

    def get_state(self) -> dict[str, Any]:
        if self._before is None:
            self._before = self.source.state_dict()
        return {self.SOURCE_KEY: self._before, self.BATCH_IDX_KEY: self._batch_idx}
