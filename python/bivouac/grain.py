"""Definitions as data sets of Grain: for trainers that iterate and checkpoint as Grain does.

`iter(IterDataset(definition))` takes the place of an iterator of Grain. Its states are JSON, as
bytes, so Grain's `CheckpointSave` and `CheckpointRestore` and Orbax keep them. Grain itself is not
needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bivouac import errors
from bivouac._loader.batch import Batch
from bivouac._loader.loader import Loader
from bivouac._pipeline.turns import Turns, in_turn

__all__ = ["DatasetIterator", "IterDataset"]

_KIND = "bivouac.grain"


class IterDataset:
    """An IterDataset makes iterators over a definition.

    Args:
      definition: what bivouac.Loader reads: a data.yaml, a pipeline or serialized bytes.
      epochs: how many epochs an iterator has. None does not end.
      options: the other arguments of bivouac.Loader.
    """

    def __init__(self, definition: Any, *, epochs: int | None = None, **options: Any) -> None:
        if epochs is not None and epochs < 1:
            raise errors.Invalid(
                op="bivouac.grain", subject="epochs", want="at least 1, or None", got=str(epochs)
            )
        self._definition, self._epochs, self._options = definition, epochs, options

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(Loader(self._definition, **self._options), self._epochs)


class DatasetIterator(Turns, Iterator[Batch]):
    """A DatasetIterator yields the batches of some epochs, one epoch after the other."""

    def __init__(self, loader: Loader, epochs: int | None = None) -> None:
        """Take a loader, which is the iterator's from here on."""
        super().__init__()
        self._loader, self._epochs = loader, epochs
        self._ended = 0  # epochs

    def __iter__(self) -> DatasetIterator:
        return self

    @in_turn
    def __next__(self) -> Batch:
        empty = 0
        while (self._epochs is None or self._ended < self._epochs) and empty < 2:
            try:
                return next(self._loader)
            except StopIteration:
                self._ended += 1
                empty += 1  # the rest of an epoch may have no batch, but not a whole one too
        raise StopIteration

    @in_turn
    def get_state(self) -> bytes:
        """Return the state after the batch that was returned last: JSON."""
        state = {"kind": _KIND, "ended": self._ended, "loader": self._loader.state_dict()}
        return json.dumps(state).encode()

    @in_turn
    def set_state(self, state: bytes | str | Mapping[str, Any]) -> None:
        """Go on after the batch that a state describes: bytes, a text or a dictionary.

        Raises:
          Mismatch: the state is not of such an iterator. The iterator stays where it was.
        """
        found: Any = state
        if isinstance(state, (bytes, bytearray, str)):
            try:
                found = json.loads(state)
            except ValueError:
                found = None
        if (
            not isinstance(found, Mapping)
            or found.get("kind") != _KIND
            or type(found.get("ended")) is not int
            or not isinstance(found.get("loader"), Mapping)
        ):
            raise errors.Mismatch(
                op="bivouac.grain",
                subject="state",
                want="what get_state() of such an iterator returned",
                got=f"{str(state)[:80]!r}",
            )
        self._loader.load_state_dict(found["loader"])
        self._ended = found["ended"]

    def start_prefetch(self) -> None:
        """Do nothing: batches are made ahead as soon as one was asked for. Grain calls it."""

    @in_turn
    def close(self) -> None:
        """End the iterator. Batches that the program has stay readable."""
        self._loader.close()
