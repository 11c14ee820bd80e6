"""Batch: samples of dynamic mode, of one type and one number of dimensions."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bivouac import _dtypes, errors
from bivouac._dynamic import arrays, context, dtypes, text
from bivouac._dynamic import device as _device
from bivouac._dynamic import session as _session
from bivouac._dynamic.device import Device
from bivouac._dynamic.dtypes import DType
from bivouac._dynamic.operands import Operands
from bivouac._dynamic.session import Fetched, Handle, Scope, Session
from bivouac._dynamic.values import Tensor, as_tensor, fetch, owned
from bivouac._pipeline.refusals import WrongType
from bivouac._pipeline.tensors import TensorListCPU

__all__ = ["Batch", "as_batch", "batch"]


class BatchedSlice:
    """A BatchedSlice takes the same part of each sample, or parts that a Batch names."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, ranges: Any) -> Batch:
        from bivouac._dynamic import subscript

        part: Batch = subscript.apply(self._batch, ranges)
        return part


class TensorList:
    """A TensorList is the samples of a Batch, as Tensors."""

    def __init__(self, batch: Batch, indices: Sequence[int] | None = None) -> None:
        self._batch = batch
        self._indices = range(batch.batch_size) if indices is None else indices

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[Tensor]:
        return (self._batch._sample(i) for i in self._indices)

    def __getitem__(self, selection: Any) -> Any:
        return self.select(selection)

    def select(self, selection: Any) -> Any:
        """Return a Tensor for a number, and a TensorList for a slice or a list of numbers."""
        if isinstance(selection, slice):
            return TensorList(self._batch, self._indices[selection])
        if isinstance(selection, list):
            return TensorList(self._batch, [self._indices[i] for i in selection])
        return self._batch._sample(self._indices[selection])

    def tolist(self) -> list[Tensor]:
        """Return a list of Tensors."""
        return list(self)

    def as_batch(self, copy: bool = False) -> Batch:
        """Return a Batch of the Tensors."""
        return batch(self) if copy else as_batch(self)


class Batch(Operands):
    """A Batch is a list of samples of one type, one number of dimensions and one layout.

    Operators return Batches for Batches. `batch` and `as_batch` make them of data. A Batch that an
    operator returned is computed in the side-car. What asks for its elements, shapes or type waits.
    """

    __slots__ = (
        "__weakref__", "_dtype", "_external", "_handle", "_layout", "_list", "_n", "_ndim",
        "_samples", "_shapes",
    )  # fmt: skip

    def __init__(
        self,
        tensors: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        copy: bool = False,
    ) -> None:
        _device.device(device)
        want = None if dtype is None else dtypes.dtype(dtype)
        self._handle: Handle | None = None
        self._list: TensorListCPU | None = None
        self._samples: dict[int, Tensor] = {}
        self._shapes: list[tuple[int, ...]] | None = None
        self._layout: str | None = None
        self._dtype: DType | None = None
        self._ndim: int | None = None
        self._external = False
        self._n = 0
        if tensors is None:
            raise errors.Invalid(subject="data of a Batch", want="data", got="None")
        if isinstance(tensors, Batch):
            raise errors.Invalid(
                subject="data of a Batch", want="samples", got="a Batch; use batch or as_batch"
            )
        if isinstance(tensors, TensorListCPU):
            if copy:
                copies = [view.copy() for view in tensors.views()]
                tensors = TensorListCPU(copies, tensors.layout())
            self._hold(tensors, not copy)
        elif isinstance(tensors, Tensor) or arrays.is_array(tensors):
            self._split(tensors, want, layout, copy)
        else:
            given = list(tensors)
            self._gather(given, want, layout, copy)
        if want is not None and self.dtype != want:
            from bivouac._dynamic import calls

            self._take(calls.call("cast", self, dtype=want))
            self._dtype = want
        if layout and layout != self._layout:
            self._relabel(layout)
        if context.EvalMode.current().value > context.EvalMode.eager.value:
            self.evaluate()

    @classmethod
    def _remote(cls, handle: Handle, n: int, dtype: DType | None = None) -> Batch:
        """Return the Batch of a value in the side-car."""
        self = cls.__new__(cls)
        self._handle, self._n, self._dtype, self._external = handle, n, dtype, False
        self._list = self._shapes = self._layout = self._ndim = None
        self._samples = {}
        return self

    def _hold(self, samples: TensorListCPU, external: bool = False) -> None:
        """Have a list as the samples. Its elements may change if it is `external`."""
        self._list, self._external, self._n = samples, external, len(samples)
        self._shapes, self._ndim = samples.shape(), samples.ndim()
        self._layout = samples.layout()
        self._dtype = dtypes.of_numpy(samples._dtype)

    def _take(self, other: Batch) -> None:
        """Have the samples of another Batch."""
        self._handle, self._list, self._n = other._handle, other._list, other._n
        self._shapes, self._ndim, self._layout = other._shapes, other._ndim, other._layout
        self._dtype, self._external, self._samples = other._dtype, other._external, {}

    def _split(self, data: Any, dtype: DType | None, layout: str | None, copy: bool) -> None:
        """Have the parts of an array along its first axis."""
        whole = Tensor(data, dtype=dtype, copy=copy)
        if whole.ndim == 0:
            raise errors.Invalid(
                subject="data of a Batch", want="samples along a first axis", got="a scalar"
            )
        own = whole.layout[1:] if whole.layout and whole.layout[0] == "N" else ""
        self._hold(TensorListCPU(whole._elements(), layout or own), whole._external)

    def _gather(
        self, given: list[Any], dtype: DType | None, layout: str | None, copy: bool
    ) -> None:
        """Have the elements of a list as samples."""
        tensors: list[Tensor] = []
        for i, one in enumerate(given):
            if one is None or isinstance(one, Batch):
                raise (WrongType if one is None else errors.Invalid)(
                    subject=f"sample {i}", want="an array, a Tensor or numbers", got=repr(one)[:40]
                )
            sample = Tensor(one, dtype=dtype, layout=layout, copy=copy)
            if dtype is None:
                dtype = sample.dtype
            if layout is None:
                layout = sample.layout or ""
            tensors.append(sample)
        if dtype is None:
            raise errors.Invalid(subject="dtype", want="a type for an empty Batch", got="none")
        self._n = len(tensors)
        if not tensors:
            empty = TensorListCPU(np.zeros((0,), dtypes.numpy_of(dtype)))
            self._hold(empty)
        elif all(t._array is not None for t in tensors):
            views = [t._elements() for t in tensors]
            if len({view.ndim for view in views}) > 1:
                raise errors.Invalid(
                    subject="samples of a Batch",
                    want="one number of dimensions",
                    got=", ".join(str(view.ndim) for view in views),
                )
            self._hold(TensorListCPU(views, layout), any(t._external for t in tensors))
        else:
            session, scope = _session.current(), context.scope()
            handles = [t._in(session, scope) for t in tensors]
            self._handle = Handle(session, session.number())
            numbers = [h.number for h in handles]
            session.note([3, self._handle.number, numbers, layout or ""], scope)
        self._dtype = dtype

    def _relabel(self, layout: str) -> None:
        """Have another layout."""
        if self._list is not None:
            part = self._list._first(self._n)
            part.set_layout(layout)
            self._hold(part, self._external)
            self._handle = None
            return
        from bivouac._dynamic import calls

        self._take(calls.call("reinterpret", self, layout=layout))

    def _in(self, session: Session, scope: Scope) -> Handle:
        """Return the value in the side-car. Samples are copied there."""
        held = self._handle
        if held is not None and held.session is session:
            return held
        if self._list is None:
            assert held is not None
            owned(held)
            return held
        if self._n == 0:
            raise errors.Invalid(subject="batch", want="at least 1 sample", got="none")
        views = [np.ascontiguousarray(v).reshape(v.shape) for v in self._list.views()]
        made = session.put(views, True, self._layout or "", scope)
        if not self._external:
            self._handle = made
        return made

    def _describe(self) -> None:
        """Wait for the shapes, the type and the layout."""
        if self._shapes is None or self._layout is None:
            assert self._handle is not None
            self._note(fetch(self._handle, True))

    def _note(self, found: Fetched) -> None:
        self._shapes, self._layout, self._ndim = found.shapes, found.layout, found.ndim
        self._dtype = dtypes.of_numpy(_dtypes.numpy_dtype(found.dtype))
        if found.elements is not None:
            self._list = found.elements

    def _elements(self) -> TensorListCPU:
        """Wait for the elements."""
        if self._list is None:
            assert self._handle is not None
            self._note(fetch(self._handle, False))
            assert self._list is not None
        return self._list

    def evaluate(self) -> Batch:
        """Wait until the samples are computed. Raise the error of the call if it failed."""
        self._describe()
        return self

    @staticmethod
    def broadcast(sample: Any, batch_size: int, device: Any = None, dtype: Any = None) -> Batch:
        """Return a Batch with the same sample several times."""
        if isinstance(sample, Batch):
            raise errors.Invalid(subject="broadcast", want="a sample", got="a Batch")
        if batch_size < 1:
            raise errors.Invalid(subject="batch_size", want="at least 1", got=str(batch_size))
        one = Tensor(sample, dtype=dtype, device=device)
        if one._array is not None:
            whole = np.repeat(one._array[np.newaxis], batch_size, axis=0)
            return Batch(TensorListCPU(whole, one.layout or ""))
        session, scope = _session.current(), context.scope()
        made = Handle(session, session.number())
        session.note([5, made.number, one._in(session, scope).number, batch_size], scope)
        return Batch._remote(made, batch_size, one._dtype)

    # Properties.

    @property
    def batch_size(self) -> int:
        """The number of samples."""
        return self._n

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        if self._dtype is None:
            self._describe()
        assert self._dtype is not None
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions of a sample."""
        if self._ndim is None:
            self._describe()
        assert self._ndim is not None
        return self._ndim

    @property
    def layout(self) -> str | None:
        """The letters of the dimensions of a sample, or None."""
        self._describe()
        return self._layout or None

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """The shape of each sample."""
        self._describe()
        assert self._shapes is not None
        return list(self._shapes)

    @property
    def device(self) -> Device:
        """Where the elements are: the CPU."""
        return Device.CPU

    def cpu(self) -> Batch:
        """Return the Batch itself."""
        return self

    def gpu(self, index: int | None = None) -> Batch:
        """Return the Batch on a GPU, which is an error; see `Device`."""
        return self.to_device(Device("gpu", index))

    def to_device(self, device: Any, force_copy: bool = False) -> Batch:
        """Return the Batch on a device. It is the same one unless a copy is asked for."""
        _device.device(device)
        return batch(self) if force_copy else self

    def _copied(self) -> Batch:
        """Return a Batch with copies of the samples."""
        if self._list is None or not self._n:
            made = Batch.__new__(Batch)
            made._take(self)
            return made
        return Batch(self._list, copy=True)

    # Samples.

    def _sample(self, i: int) -> Tensor:
        """Return a sample as a view. It does not wait."""
        if not -self._n <= i < self._n:
            raise IndexError(f"sample {i} is out of range for {self._n} samples")
        i %= self._n
        found = self._samples.get(i)
        if found is None:
            if self._list is not None:
                dense = self._list._dense
                view = self._list.at(i) if dense is None else dense[i, ...]
                found = Tensor._local(np.asarray(view), self._layout or "", self._dtype)
                found._external = self._external
            else:
                session, scope = _session.current(), context.scope()
                made = Handle(session, session.number())
                session.note([1, made.number, self._in(session, scope).number, i], scope)
                found = Tensor._remote(made, self._dtype)
            self._samples[i] = found
        return found

    @property
    def tensors(self) -> TensorList:
        """The samples as Tensors."""
        return TensorList(self)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors)

    def select(self, sample_range: Any) -> Any:
        """Return a Tensor for a number, and a Batch for a slice or a list of numbers."""
        if sample_range is ...:
            return self
        if not isinstance(sample_range, (slice, list)):
            return self._sample(sample_range)
        indices = range(self._n)
        if isinstance(sample_range, slice):
            picked = list(indices[sample_range])
        else:
            picked = [indices[i] for i in sample_range]
        if self._list is not None or not picked:
            if not picked:
                return Batch([], dtype=self.dtype, layout=None)
            views = self._elements().views()
            chosen = TensorListCPU([views[i] for i in picked], self._layout or "")
            return Batch(chosen)
        session, scope = _session.current(), context.scope()
        made = Handle(session, session.number())
        session.note([2, made.number, self._in(session, scope).number, picked], scope)
        return Batch._remote(made, len(picked), self._dtype)

    @property
    def slice(self) -> BatchedSlice:
        """Parts of each sample: `batch.slice[2:5, 0]`. The numbers may be Batches."""
        return BatchedSlice(self)

    # Elements.

    def _stacked(self, pad: bool) -> Tensor:
        """Return the samples as one Tensor, with the samples along a new first axis."""
        if self._list is not None and self._is_dense():
            stacked = self._list.as_tensor()
            layout = stacked.layout() or ("N" if self.ndim == 0 else "")
            return Tensor._local(stacked._array, layout, self._dtype)
        if self._list is not None and not pad:
            raise errors.Invalid(
                subject="batch",
                want="samples of one shape, or pad=True",
                got=f"the shapes {sorted(set(self.shape))}",
            )
        session, scope = _session.current(), context.scope()
        made = Handle(session, session.number())
        session.note([4, made.number, self._in(session, scope).number, int(pad)], scope)
        return Tensor._remote(made, self._dtype)

    def _is_dense(self) -> bool:
        """Report whether all samples have one shape."""
        return len(set(self.shape)) <= 1

    def torch(self, copy: bool | None = None, pad: bool = False) -> Any:
        """Return the samples as one tensor of torch.

        Args:
          copy: True copies always; False raises an error if that is needed.
          pad: samples that differ in shape are padded with zeros.
        """
        if importlib.util.find_spec("torch") is None:
            raise RuntimeError("Batch.torch: torch is not installed")
        if copy is False and not self._is_dense():
            raise errors.Invalid(
                subject="batch", want="samples of one shape, or copy", got="others"
            )
        return as_tensor(self, pad=pad).torch(bool(copy))

    def __repr__(self) -> str:
        return text.of_batch(self._elements().views(), self.dtype, self.layout)


def batch(tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None) -> Batch:
    """Return a Batch with copies of samples.

    Args:
      tensors: a list of samples, each as for `tensor`; an array with the samples along its first
        axis; or a Batch.
      dtype: the type that elements are converted to. An empty list needs it.
      device: the CPU, or None.
      layout: a letter for each dimension of a sample.
    """
    if isinstance(tensors, Batch):
        made = _changed(tensors, dtype, device, layout)
        if made is tensors:
            made = tensors._copied()
        return made
    return Batch(tensors, dtype, device, layout, True)


def as_batch(
    tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None
) -> Batch:
    """Return a Batch that has the memory of arrays. The arguments are those of `batch`."""
    if isinstance(tensors, Batch):
        return _changed(tensors, dtype, device, layout)
    return Batch(tensors, dtype, device, layout)


def _changed(given: Batch, dtype: Any, device: Any, layout: str | None) -> Batch:
    """Return a Batch with another type or layout; the same one if nothing changes."""
    from bivouac._dynamic import calls

    _device.device(device)
    if dtype is not None and given.dtype != dtypes.dtype(dtype):
        given = calls.call("cast", given, dtype=dtypes.dtype(dtype))
    if layout is not None and layout != given.layout:
        given = calls.call("reinterpret", given, layout=layout)
    return given
