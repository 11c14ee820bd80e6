"""ExternalSource: values that a function or an iterable of the program gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bivouac import errors
from bivouac._dynamic import context
from bivouac._dynamic import device as _device
from bivouac._dynamic.batches import Batch, as_batch
from bivouac._dynamic.values import Tensor, as_tensor
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac._pipeline.sources import source_of
from bivouac._pipeline.tensors import TensorListCPU

__all__ = ["ExternalSource"]


class ExternalSource:
    """An ExternalSource returns the next item of a source at each call.

    Args:
      source: a function of nothing, an iterable, an iterator, or a generator function.
      num_outputs: how many values an item has. More than one are a tuple.
      cycle: what follows the end of an iterable. None, False or "no" end the source; True or
        "quiet" begin the iterable again; "raise" begins it again after a StopIteration.
      device: the CPU.
      layout, dtype: of the outputs: one for each, or one for all.
    """

    def __init__(
        self,
        source: Any,
        num_outputs: int = 1,
        *,
        cycle: Any = None,
        device: Any = "cpu",
        layout: Any = None,
        dtype: Any = None,
    ) -> None:
        _device.device(device)
        found = source_of(source, cycle)
        if found is None:
            raise errors.Invalid(subject="source", want="a function or an iterable", got="None")
        if found.indexed:
            raise errors.Invalid(
                subject="source", want="a function of nothing", got="one with an argument"
            )
        if num_outputs < 1:
            raise errors.Invalid(subject="num_outputs", want="at least 1", got=str(num_outputs))
        self._function = found.function
        self._outputs = num_outputs
        self._layouts = self._each("layout", layout)
        self._dtypes = self._each("dtype", dtype)
        self._way: str | None = None
        self._size: int | None = None

    def _each(self, name: str, value: Any) -> Sequence[Any]:
        """Return an option for each output."""
        if not isinstance(value, (list, tuple)):
            return (value,) * self._outputs
        if len(value) != self._outputs:
            raise errors.Invalid(subject=name, want=f"{self._outputs} of them", got=str(len(value)))
        return value

    def _use(self, way: str) -> None:
        if self._way not in (None, way):
            raise BrokenGraph(
                op="ExternalSource", want=f"{self._way}, as before", got=way,
                remedy="make another source for it",
            )  # fmt: skip
        self._way = way

    def __call__(self, *, batch_size: int | None = None) -> Any:
        """Return the next item: a Tensor or a Batch, or a tuple of them.

        With `batch_size`, Tensors become Batches of this size, and Batches must have it.

        Raises:
          StopIteration: the source has ended.
        """
        self._use("calls")
        return self._next(batch_size)

    def captured(self, batch_size: int, ctx: context.EvalContext | None = None) -> Iterator[Any]:
        """Return an iterator over the items up to the end of the source, as Batches."""
        self._use("captured")
        if self._size not in (None, batch_size):
            raise errors.Invalid(
                subject="batch_size", want=f"{self._size}, as before", got=str(batch_size)
            )
        self._size = batch_size
        return self._items(batch_size, ctx)

    def _items(self, batch_size: int, ctx: context.EvalContext | None) -> Iterator[Any]:
        with ctx or context.EvalContext.current():
            while True:
                try:
                    item = self._next(batch_size)
                except StopIteration:
                    return
                yield item

    def _next(self, batch_size: int | None) -> Any:
        data = self._function()
        if self._outputs == 1:
            data = (data,)
        elif not isinstance(data, Sequence) or len(data) != self._outputs:
            raise errors.Invalid(
                subject="item of an ExternalSource",
                want=f"{self._outputs} outputs",
                got=repr(data)[:60],
            )
        made = [self._output(i, one, batch_size) for i, one in enumerate(data)]
        if len({type(one) for one in made}) > 1:
            raise WrongType(
                subject="item of an ExternalSource", want="only Tensors or only Batches", got="both"
            )
        return made[0] if self._outputs == 1 else tuple(made)

    def _output(self, i: int, data: Any, batch_size: int | None) -> Tensor | Batch:
        dtype, layout = self._dtypes[i], self._layouts[i]
        if isinstance(data, (Batch, TensorListCPU)):
            batch = as_batch(data, dtype=dtype, layout=layout)
            if batch_size is not None and batch.batch_size != batch_size:
                raise errors.Invalid(
                    subject="item of an ExternalSource",
                    want=f"a batch of {batch_size} samples",
                    got=str(batch.batch_size),
                )
            return batch
        tensor = as_tensor(data, dtype=dtype, layout=layout)
        return tensor if batch_size is None else Batch.broadcast(tensor, batch_size)
