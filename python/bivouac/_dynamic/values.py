"""Tensor: an array of dynamic mode. Its elements may not be computed yet."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._dynamic import arrays, context, dtypes, text
from bivouac._dynamic import device as _device
from bivouac._dynamic import session as _session
from bivouac._dynamic.device import Device
from bivouac._dynamic.dtypes import DType
from bivouac._dynamic.operands import Operands
from bivouac._dynamic.session import Fetched, Handle, Scope, Session
from bivouac._failures import of_call
from bivouac._pipeline.tensors import TensorCPU, _layout

__all__ = ["Tensor", "as_tensor", "fetch", "owned", "tensor"]

_CPU = 1  # of DLPack

Array = np.ndarray[Any, Any]


def fetch(handle: Handle, describe: bool) -> Fetched:
    """Wait for a value. Its error is a RuntimeError too."""
    owned(handle)
    try:
        return handle.session.fetch(handle, describe)
    except errors.BivouacError as err:
        if isinstance(err, (errors.Died, errors.Closed)):
            raise
        raise of_call(err) from None


def owned(handle: Handle) -> None:
    """Raise an error if the side-car of a value has ended."""
    if handle.session is not _session.current():
        raise errors.Closed(
            op="dynamic",
            subject="value",
            want="a value of the side-car that runs",
            got="one of a side-car that has ended",
            remedy="compute it again; elements that were taken out before stay",
        )


class Tensor(Operands):
    """A Tensor is an array of numbers or booleans.

    Operators return Tensors. `tensor` and `as_tensor` make them of data. A Tensor that an operator
    returned is computed in the side-car. What asks for its elements, shape or type waits for it.
    """

    __slots__ = ("__weakref__", "_array", "_dtype", "_external", "_handle", "_layout", "_shape")

    def __init__(
        self,
        data: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        copy: bool = False,
    ) -> None:
        _device.device(device)
        if layout is not None and not isinstance(layout, str):
            raise errors.Invalid(subject="layout", want="a str", got=type(layout).__name__)
        want = None if dtype is None else dtypes.dtype(dtype)
        self._handle: Handle | None = None
        self._array: Array | None = None
        self._shape: tuple[int, ...] | None = None
        self._layout: str | None = None
        self._dtype: DType | None = None
        self._external = False
        if data is None:
            raise errors.Invalid(subject="data of a Tensor", want="data", got="None")
        if isinstance(data, Tensor):
            self._take(data, copy)
        elif isinstance(data, TensorCPU):
            self._hold(data._array.copy() if copy else data._array, data.layout(), not copy)
        elif arrays.is_array(data):
            array = arrays.shared(data)
            self._hold(array.copy() if copy else array, "", not copy)
        else:
            array, own = arrays.from_python(data, want)
            self._hold(array, "")
            self._dtype = own
        if want is not None and self.dtype != want:
            from bivouac._dynamic import calls

            self._take(calls.call("cast", self, dtype=want), False)
            self._dtype = want
        if layout and layout != self._layout:
            self._relabel(layout)

    @classmethod
    def _remote(cls, handle: Handle, dtype: DType | None = None) -> Tensor:
        """Return the Tensor of a value in the side-car."""
        self = cls.__new__(cls)
        self._handle, self._dtype, self._external = handle, dtype, False
        self._array = self._shape = self._layout = None
        return self

    @classmethod
    def _local(cls, array: Array, layout: str, dtype: DType | None = None) -> Tensor:
        """Return the Tensor of an array."""
        self = cls.__new__(cls)
        self._handle, self._external = None, False
        self._hold(array, layout)
        self._dtype = dtype or self._dtype
        return self

    def _hold(self, array: Array, layout: str, external: bool = False) -> None:
        """Have an array as the elements. It may change if it is `external`."""
        self._array, self._external = array, external
        self._shape, self._layout = array.shape, _layout(layout, array.ndim)
        self._dtype = dtypes.of_numpy(array.dtype)

    def _take(self, other: Tensor, copy: bool) -> None:
        """Have the elements of another Tensor."""
        self._handle, self._array, self._external = other._handle, other._array, other._external
        self._shape, self._layout, self._dtype = other._shape, other._layout, other._dtype
        if copy and self._array is not None:
            self._array, self._external = self._array.copy(), False

    def _relabel(self, layout: str) -> None:
        """Have another layout."""
        if self._array is not None:
            self._layout, self._handle = _layout(layout, self._array.ndim), None
            return
        from bivouac._dynamic import calls

        self._take(calls.call("reinterpret", self, layout=layout), False)

    def _in(self, session: Session, scope: Scope) -> Handle:
        """Return the value in the side-car. An array is copied there."""
        held = self._handle
        if held is not None and held.session is session:
            return held
        if self._array is None:
            assert held is not None
            owned(held)
            return held
        made = session.put([self._array], False, self._layout or "", scope)
        if not self._external:
            self._handle = made
        return made

    def _describe(self) -> None:
        """Wait for the shape, the type and the layout."""
        if self._shape is None or self._layout is None:
            assert self._handle is not None
            self._note(fetch(self._handle, True))

    def _note(self, found: Fetched) -> None:
        self._shape, self._layout = found.shapes[0], found.layout
        if self._dtype is None or self._dtype.kind is not dtypes.Kind.enum:
            from bivouac import _dtypes

            self._dtype = dtypes.of_numpy(_dtypes.numpy_dtype(found.dtype))
        if found.elements is not None:
            dense = found.elements._dense
            assert dense is not None
            self._array = dense[0, ...]

    def _elements(self) -> Array:
        """Wait for the elements."""
        if self._array is None:
            assert self._handle is not None
            self._note(fetch(self._handle, False))
            assert self._array is not None
        return self._array

    def evaluate(self) -> Tensor:
        """Wait until the elements are computed. Raise the error of the call if it failed."""
        self._describe()
        return self

    # Properties.

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        if self._dtype is None:
            self._describe()
        assert self._dtype is not None
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        self._describe()
        assert self._shape is not None
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def layout(self) -> str | None:
        """A letter for each dimension, or None."""
        self._describe()
        return self._layout or None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.dtype.bytes

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.dtype.bytes

    @property
    def device(self) -> Device:
        """Where the elements are: the CPU."""
        return Device.CPU

    def cpu(self) -> Tensor:
        """Return the Tensor itself."""
        return self

    def gpu(self, index: int | None = None) -> Tensor:
        """Return the Tensor on a GPU, which is an error; see `Device`."""
        return self.to_device(Device("gpu", index))

    def to_device(self, device: Any, force_copy: bool = False) -> Tensor:
        """Return the Tensor on a device. It is the same one unless a copy is asked for."""
        _device.device(device)
        return Tensor(self, copy=True) if force_copy else self

    # Elements.

    def item(self) -> Any:
        """Return the only element."""
        if self.size != 1:
            raise errors.Invalid(subject="item", want="1 element", got=str(self.size))
        return self._elements().item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self._elements()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"want a copy for another type than {array.dtype}, got copy=False")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, stream: Any = None, dl_device: Any = None, **options: Any) -> Any:
        del stream, dl_device
        return self._elements().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0)

    def torch(self, copy: bool = False) -> Any:
        """Return a tensor of torch, which has the same memory unless `copy` is set."""
        try:
            torch = importlib.import_module("torch")
        except ModuleNotFoundError:
            raise RuntimeError("Tensor.torch: torch is not installed") from None
        made = torch.from_numpy(self._elements())
        return made.clone() if copy else made

    # Parts.

    def __getitem__(self, ranges: Any) -> Tensor:
        from bivouac._dynamic import subscript

        part: Tensor = subscript.apply(self, ranges)
        return part

    def __iter__(self) -> Iterator[Tensor]:
        shape = self.shape
        if not shape:
            raise TypeError("want a Tensor of at least one dimension to iterate over, got a scalar")
        return (self[i] for i in range(shape[0]))

    def __repr__(self) -> str:
        return text.of_tensor(self._elements(), self.dtype, self.layout)


def tensor(
    data: Any,
    dtype: Any = None,
    device: Any = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """Return a Tensor with a copy of data.

    Args:
      data: a number, nested lists of numbers, an array of any library, a Tensor, or a Batch, whose
        samples are stacked.
      dtype: the type that elements are converted to. Without it, numbers of Python become int32 and
        float32.
      device: the CPU, or None.
      layout: a letter for each dimension.
      pad: samples of a Batch that differ in shape are padded with zeros.
    """
    return _made(data, dtype, device, layout, pad, True)


def as_tensor(
    data: Any,
    dtype: Any = None,
    device: Any = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """Return a Tensor that has the memory of an array. The arguments are those of `tensor`."""
    return _made(data, dtype, device, layout, pad, False)


def _made(data: Any, dtype: Any, device: Any, layout: str | None, pad: bool, copy: bool) -> Tensor:
    from bivouac._dynamic.batches import Batch

    if isinstance(data, Batch):
        data = data._stacked(pad)
    made = Tensor(data, dtype, device, layout, copy)
    if context.EvalMode.current().value > context.EvalMode.eager.value:
        made.evaluate()
    return made
