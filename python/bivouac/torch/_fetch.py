"""Fetchers read the items of a task from the user's data set and collate them."""

from __future__ import annotations

import sys
from typing import Any

from bivouac.torch._state import Lane, is_stateful, load_into, state_of

__all__ = ["Fetcher", "IterableFetcher", "MapFetcher", "is_iterable", "make_fetcher"]


def is_iterable(dataset: Any) -> bool:
    """Report whether a data set is read with iter(): an IterableDataset of torch, or a value with
    `__iter__` and without `__getitem__`."""
    module = sys.modules.get("torch.utils.data.dataset")
    if module is not None and isinstance(dataset, module.IterableDataset):
        return True
    return hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__")


class Fetcher:
    """A Fetcher reads batches from a data set. It is one of the two kinds below."""

    def __init__(self, dataset: Any, batched: bool, collate: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self._batched = batched
        self._collate = collate
        self._drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """Return the batch of a task. StopIteration is the end of an iterable."""
        raise NotImplementedError

    def state(self) -> Lane:
        """Return the state."""
        raise NotImplementedError

    def load(self, lane: Lane) -> None:
        """Take over the state of the iterator."""

    def stateful(self) -> bool:
        """Report whether there is a state of the user."""
        raise NotImplementedError


class MapFetcher(Fetcher):
    """A MapFetcher reads a data set by index."""

    def fetch(self, index: Any) -> Any:
        """Return the batch of a task. A StopIteration of the data set becomes a RuntimeError."""
        try:
            dataset = self.dataset
            if not self._batched:
                data = dataset[index]
            elif getattr(dataset, "__getitems__", None):
                data = dataset.__getitems__(index)
            else:
                data = [dataset[i] for i in index]
            return self._collate(data)
        except StopIteration as err:
            raise RuntimeError(f"the data set raised StopIteration: {err}") from err

    def state(self) -> Lane:
        """Return the state of the data set."""
        return state_of(self.dataset), None, False, 0

    def stateful(self) -> bool:
        """Report whether the data set has a state."""
        return is_stateful(self.dataset)


class IterableFetcher(Fetcher):
    """An IterableFetcher reads a data set with iter()."""

    def __init__(self, dataset: Any, batched: bool, collate: Any, drop_last: bool) -> None:
        super().__init__(dataset, batched, collate, drop_last)
        self.iterator = iter(dataset)
        self.ended = False
        self.items = 0

    def fetch(self, index: Any) -> Any:
        """Return the next batch. StopIteration is the end."""
        if not self._batched:
            data = next(self.iterator)
            self.items += 1
            return self._collate(data)
        if self.ended:
            raise StopIteration
        data, iterator = [], self.iterator
        try:
            for _ in index:
                data.append(next(iterator))
        except StopIteration:
            self.ended = True
        finally:
            self.items += len(data)
        if not data or (self._drop_last and len(data) < len(index)):
            raise StopIteration
        try:
            return self._collate(data)
        except StopIteration as err:
            raise RuntimeError(f"the collate function raised StopIteration: {err}") from err

    def skip(self, items: int) -> None:
        """Read items and leave them out. An item whose reading fails counts as none."""
        while self.items < items:
            try:
                next(self.iterator)
            except StopIteration:
                self.ended = True
                return
            except Exception:
                continue
            self.items += 1

    def state(self) -> Lane:
        """Return the states of the data set and of the iterator."""
        own = self.iterator is self.dataset
        dataset = None if own else state_of(self.dataset)
        return dataset, state_of(self.iterator), self.ended, self.items

    def load(self, lane: Lane) -> None:
        """Take over the state of the iterator."""
        if lane[1] is not None:
            load_into(self.iterator, lane[1])
        self.items = lane[3]

    def stateful(self) -> bool:
        """Report whether the data set or its iterator has a state."""
        return is_stateful(self.dataset) or is_stateful(self.iterator)


def make_fetcher(
    iterable: bool, dataset: Any, batched: bool, collate: Any, drop_last: bool
) -> Fetcher:
    """Return the fetcher of a data set."""
    made = IterableFetcher if iterable else MapFetcher
    return made(dataset, batched, collate, drop_last)
