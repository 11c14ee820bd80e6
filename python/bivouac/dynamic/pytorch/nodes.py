"""Nodes of torchdata that read, change and convert values of dynamic mode."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bivouac import errors
from bivouac._dynamic.readers import Reader as _Reader
from bivouac._pipeline.refusals import BrokenGraph

__all__ = ["DictMapper", "Reader", "ToTorch"]

_Base: Any = importlib.import_module("torchdata.nodes").BaseNode


class Reader(_Base):  # type: ignore[misc]
    """A Reader is a node that reads a data set and yields dictionaries.

    Args:
      reader_type: the class of a reader, such as `readers.File`.
      batch_size: the size of batches; None yields Tensors.
      output_names: the keys of the outputs. Two outputs are "data" and "label" by default.
      kwargs: arguments of the reader. With enable_checkpointing=True the node has a state.
    """

    def __init__(
        self,
        reader_type: type[_Reader],
        *,
        batch_size: int | None,
        output_names: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._make: Callable[[], _Reader] = lambda: reader_type(**kwargs)
        self._reader = self._make()
        self._batch_size = batch_size
        outputs = self._reader._outputs
        names = None if output_names is None else tuple(output_names)
        if names is None and outputs == 2:
            names = ("data", "label")
        if names is None or len(names) != outputs:
            got = "none" if names is None else str(len(names))
            raise errors.Invalid(subject="output_names", want=f"{outputs} names", got=got)
        self._names = names
        self._epoch: Iterator[Any] | None = None

    def next(self) -> dict[str, Any]:
        """Return the outputs of the next batch or sample."""
        if self._epoch is None:
            raise BrokenGraph(op="Reader.next", want="a call of reset before", got="none")
        outputs = next(self._epoch)
        values = outputs.values() if isinstance(outputs, dict) else outputs
        return dict(zip(self._names, values))

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Begin an epoch, or go on from a state."""
        super().reset(initial_state)
        if initial_state is not None and "reader" not in initial_state:
            raise errors.Unsupported(
                op="Reader.reset",
                want="a state of a reader with enable_checkpointing=True",
                got="another one",
            )
        if initial_state is not None:
            self._reader = self._make()
            if initial_state["reader"] is not None:
                self._reader.set_state(initial_state["reader"])
        self._epoch = iter(self._reader.next_epoch(batch_size=self._batch_size))

    def get_state(self) -> dict[str, Any]:
        """Return the state of a reader with checkpointing."""
        if not self._reader._checkpointing:
            return {}
        return {"reader": str(self._reader.get_state()) if self._reader._begun else None}

    def get_metadata(self) -> dict[str, int]:
        """Return the sizes of the data set."""
        return self._reader.get_metadata(self._batch_size)


class DictMapper(_Base):  # type: ignore[misc]
    """A DictMapper calls a function with one value of each dictionary.

    Args:
      source: a node that yields dictionaries.
      map_fn: returns the new value.
      key: the key of the value.
    """

    def __init__(self, source: Any, map_fn: Callable[[Any], Any], key: str = "data") -> None:
        super().__init__()
        self._source, self._map_fn, self._key = source, map_fn, key

    def next(self) -> dict[str, Any]:
        """Return the next dictionary, with the new value."""
        found = dict(self._source.next())
        found[self._key] = self._map_fn(found[self._key])
        return found

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Begin an epoch, or go on from a state."""
        super().reset(initial_state)
        self._source.reset(None if initial_state is None else initial_state["source"])

    def get_state(self) -> dict[str, Any]:
        """Return the state of the source."""
        return {"source": self._source.get_state()}


class ToTorch(_Base):  # type: ignore[misc]
    """A ToTorch yields tuples of tensors of torch.

    Args:
      source: a node that yields dictionaries of values.
      output_stream: None.
    """

    def __init__(self, source: Any, output_stream: Any = None) -> None:
        super().__init__()
        if output_stream is not None:
            raise errors.Unsupported(subject="output_stream", want="None", got="a stream of a GPU")
        self._source = source

    def next(self) -> tuple[Any, ...]:
        """Return the values of the next dictionary."""
        return tuple(value.torch() for value in self._source.next().values())

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Begin an epoch, or go on from a state."""
        super().reset(initial_state)
        self._source.reset(None if initial_state is None else initial_state["source"])

    def get_state(self) -> dict[str, Any]:
        """Return the state of the source."""
        return {"source": self._source.get_state()}
