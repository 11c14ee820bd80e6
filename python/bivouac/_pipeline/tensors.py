"""Tensors and lists of tensors: the batches of a pipeline, under the names of DALI.

The samples of a batch lie in memory that the side-car has filled. Arrays are views of it. The
memory takes another batch when the last view is gone. So a view never changes under its owner.

The samples of a batch may differ in shape. Such a batch has two forms: `views()`, a list with an
array for each sample, and `flat()`, one array of all elements with the place where each sample
begins.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bivouac import _dtypes

__all__ = ["TensorCPU", "TensorListCPU"]

_CPU = 1  # of DLPack


_NAMES = {
    "bool": "BOOL",
    "float16": "FLOAT16",
    "float32": "FLOAT",
    "float64": "FLOAT64",
    **{f"int{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}" for bits in (8, 16, 32, 64)},
}
"""The names in DALIDataType of the types of numpy."""


def _dali_type(dtype: np.dtype[Any]) -> Any:
    """Return the member of DALIDataType for a type of numpy."""
    from bivouac import types

    name = _NAMES.get(dtype.name)
    if name is None:
        raise TypeError(f"want a type that DALI has, got {dtype}")
    return getattr(types.DALIDataType, name)


def _numpy_type(dali_type: Any) -> np.dtype[Any]:
    """Return the type of numpy for a member of DALIDataType."""
    for numpy_name, name in _NAMES.items():
        if name == getattr(dali_type, "name", None):
            return np.dtype(numpy_name)
    raise RuntimeError(f"want a DALIDataType of numbers or booleans, got {dali_type!r}")


def _layout(layout: Any, ndim: int) -> str:
    """Check a layout and return it."""
    text = "" if layout is None else str(layout)
    if text and len(text) != ndim:
        raise RuntimeError(f"layout {text!r}: want one letter for each of {ndim} dimensions")
    return text


def as_numpy(data: Any) -> np.ndarray[Any, Any]:
    """Return an array that shares the memory of data where that is possible.

    Data is an array of numpy, a tensor of torch, an array of JAX, a TensorCPU, or anything with
    `__array__`, `__array_interface__` or DLPack. It must be on the CPU.
    """
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, TensorCPU):
        return data._array
    detach = getattr(data, "detach", None)
    if detach is not None and hasattr(data, "numpy"):  # torch
        return np.asarray(detach().numpy())
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    raise TypeError(
        f"want an array, a tensor or a list of them, got {type(data).__name__}: it has no shape"
    )


def _copy_to(address: Any, array: np.ndarray[Any, Any]) -> None:
    """Copy the elements of an array to memory of the caller."""
    value = getattr(address, "value", address)
    if value is None or int(value) == 0:
        raise RuntimeError("copy_to_external: want the address of memory, got null")
    whole = np.ascontiguousarray(array)
    ctypes.memmove(int(value), whole.ctypes.data, whole.nbytes)


class TensorCPU:
    """A TensorCPU is an array with a layout.

    Args:
      data: an array, or an object that shares its memory by one of numpy's protocols.
      layout: a letter for each dimension, such as "HWC"; None or "" is no layout.
    """

    __slots__ = ("_array", "_layout", "_source")

    def __init__(self, data: Any, layout: str | None = "", is_pinned: bool = False) -> None:
        del is_pinned  # memory of a CPU
        self._array = as_numpy(data)
        self._layout = _layout(layout, self._array.ndim)
        self._source = ""

    @property
    def dtype(self) -> Any:
        """The type of the elements, a DALIDataType."""
        return _dali_type(self._array.dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        del stream
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0)

    def shape(self) -> list[int]:
        """Return the extents."""
        return list(self._array.shape)

    def ndim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def layout(self) -> str:
        """Return the layout, or ""."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Give the tensor another layout."""
        self._layout = _layout(layout, self._array.ndim)

    def as_cpu(self) -> TensorCPU:
        """Return the tensor itself."""
        return self

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self._array.ctypes.data)

    def copy_to_external(self, ptr: Any) -> None:
        """Copy the elements to an address, an int or a ctypes.c_void_p."""
        _copy_to(ptr, self._array)

    def reinterpret(self, new_type: Any) -> None:
        """Take the bytes as elements of another type of the same size."""
        dtype = _numpy_type(new_type)
        if dtype.itemsize != self._array.dtype.itemsize:
            raise RuntimeError(f"reinterpret: {new_type} has another size than {self.dtype}")
        self._array = self._array.view(dtype)

    def squeeze(self, dim: int | None = None) -> bool:
        """Remove dimensions of extent 1, or one of them. Report whether the shape has changed."""
        before = self._array.shape
        if dim is None:
            kept = [i for i, n in enumerate(before) if n != 1]
        elif -len(before) <= dim < len(before) and before[dim] == 1:
            kept = [i for i in range(len(before)) if i != dim % len(before)]
        else:
            return False
        self._array = self._array.reshape([before[i] for i in kept])
        self._layout = "".join(self._layout[i] for i in kept) if self._layout else ""
        return bool(self._array.shape != before)

    def source_info(self) -> str:
        """Return where the sample came from. It is not known here: ""."""
        return self._source

    def get_property(self, name: str) -> Any:
        """Return a property: "layout" or "source_info"."""
        if name == "layout":
            return self._layout
        if name == "source_info":
            return self._source
        raise RuntimeError(f"get_property: want layout or source_info, got {name!r}")

    def __str__(self) -> str:
        return _text(self, np.array2string(self._array))

    def __repr__(self) -> str:
        return _text(self, None)


def _text(tensor: TensorCPU, contents: str | None) -> str:
    """Return a tensor in words."""
    lines = [] if contents is None else [contents]
    lines += [f"dtype={_name(tensor.dtype)}"]
    if tensor.layout():
        lines.append(f'layout="{tensor.layout()}"')
    lines += ['device="cpu"', f"shape={tuple(tensor.shape())}"]
    return "TensorCPU(\n    " + ",\n    ".join(lines) + ")"


def _name(dali_type: Any) -> str:
    return f"DALIDataType.{dali_type.name}"


class TensorListCPU:
    """A TensorListCPU is a list of samples of one type and one number of dimensions.

    Args:
      data: an array with the samples along its first axis, or a list of arrays or tensors.
      layout: a letter for each dimension of a sample; None or "" is no layout.
    """

    __slots__ = (
        "_arrays",
        "_dense",
        "_dtype",
        "_flat",
        "_layout",
        "_name",
        "_ndim",
        "_offsets",
        "_shapes",
    )

    def __init__(
        self, data: Any, layout: str | None = "", is_pinned: bool = False, contiguous: bool = False
    ) -> None:
        del is_pinned, contiguous
        self._name = ""  # of the field of a data set
        self._flat: np.ndarray[Any, Any] | None = None  # all elements, where they lie in one place
        self._offsets: np.ndarray[Any, Any] | None = None  # in elements, where each sample begins
        self._dense: np.ndarray[Any, Any] | None = None
        self._arrays: list[np.ndarray[Any, Any]] | None = None
        if isinstance(data, TensorListCPU):
            data = data.views() if data._dense is None else data._dense
        if isinstance(data, (list, tuple)):
            self._arrays = [as_numpy(sample) for sample in data]
            if not self._arrays:
                raise RuntimeError("TensorListCPU: want at least one sample, got an empty list")
            first = self._arrays[0]
            for i, array in enumerate(self._arrays):
                if array.dtype != first.dtype or array.ndim != first.ndim:
                    raise TypeError(
                        f"TensorListCPU: want samples of one type and number of dimensions, "
                        f"{first.dtype} and {first.ndim}; sample {i} has {array.dtype} and "
                        f"{array.ndim}"
                    )
            self._shapes = [array.shape for array in self._arrays]
            self._dtype, self._ndim = first.dtype, first.ndim
        else:
            self._dense = as_numpy(data)
            if self._dense.ndim == 0:
                raise RuntimeError("TensorListCPU: want samples along a first axis, got a scalar")
            self._shapes = [self._dense.shape[1:]] * len(self._dense)
            self._dtype, self._ndim = self._dense.dtype, self._dense.ndim - 1
        self._layout = _layout(layout, self._ndim)

    @classmethod
    def _of(cls, memory: Any, output: dict[str, Any]) -> TensorListCPU:
        """Return the samples of an output, as views of the memory of a batch."""
        self = cls.__new__(cls)
        dtype = self._dtype = _dtypes.numpy_dtype(output["dtype"])
        self._name = output.get("name", "")
        self._layout = output.get("layout", "")
        self._ndim = output["ndim"]
        samples, offset = output["samples"], output["offset"]
        self._arrays = self._dense = self._flat = self._offsets = None
        if "offsets" not in output:
            shape = tuple(output.get("shape") or ())
            self._shapes = [shape] * samples
            self._dense = np.ndarray((samples, *shape), dtype, memory, offset)
            return self
        dims = output.get("dims") or []
        n = self._ndim
        self._shapes = [tuple(dims[i * n : i * n + n]) for i in range(samples)]
        begins = (np.array(output["offsets"], np.int64) - offset) // dtype.itemsize
        size = int(begins[-1]) + math.prod(self._shapes[-1]) if samples else 0
        self._flat = np.ndarray((size,), dtype, memory, offset)
        self._offsets = begins
        return self

    def views(self) -> list[np.ndarray[Any, Any]]:
        """Return an array for each sample: views of the memory of the batch."""
        if self._arrays is None:
            if self._dense is not None and self._dense.ndim == 1:  # its items are not arrays
                self._arrays = [row.reshape(()) for row in self._dense.reshape(-1, 1)]
            elif self._dense is not None:
                self._arrays = list(self._dense)
            else:
                flat, offsets = self._flat, self._offsets
                assert flat is not None and offsets is not None
                self._arrays = [
                    flat[begin : begin + math.prod(shape)].reshape(shape)
                    for begin, shape in zip(offsets.tolist(), self._shapes)
                ]
        return self._arrays

    def flat(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return all elements as one array, and where each sample begins and the last one ends.

        The elements of sample i are `elements[offsets[i]:offsets[i + 1]]`, with the shape
        `shape()[i]`.
        """
        sizes = [math.prod(shape) for shape in self._shapes]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        if self._dense is not None:
            return self._dense.reshape(-1), ends
        if self._flat is not None and self._offsets is not None:
            if np.array_equal(self._offsets, ends[:-1]):
                return self._flat, ends
        return np.concatenate([array.reshape(-1) for array in self.views()]), ends

    def _first(self, n: int) -> TensorListCPU:
        """Return the first n samples."""
        part = TensorListCPU.__new__(TensorListCPU)
        part._dtype, part._ndim, part._layout = self._dtype, self._ndim, self._layout
        part._name = self._name
        part._shapes = self._shapes[:n]
        part._flat = part._offsets = None
        part._dense = None if self._dense is None else self._dense[:n]
        part._arrays = None if self._dense is not None else self.views()[:n]
        return part

    @property
    def dtype(self) -> Any:
        """The type of the elements, a DALIDataType."""
        return _dali_type(self._dtype)

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, i: int) -> TensorCPU:
        if not -len(self) <= i < len(self):
            raise IndexError("TensorListCPU index out of range")
        return TensorCPU(self.views()[i], self._layout)

    def __iter__(self) -> Iterator[TensorCPU]:
        return (TensorCPU(view, self._layout) for view in self.views())

    def at(self, i: int) -> np.ndarray[Any, Any]:
        """Return sample i as an array."""
        if not 0 <= i < len(self):
            raise RuntimeError(f"at: want a sample from 0 to {len(self) - 1}, got {i}")
        return self.views()[i]

    def shape(self) -> list[tuple[int, ...]]:
        """Return the shape of each sample."""
        return list(self._shapes)

    def ndim(self) -> int:
        """Return the number of dimensions of a sample."""
        return self._ndim

    def layout(self) -> str:
        """Return the layout of a sample, or ""."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Give the samples another layout."""
        self._layout = _layout(layout, self._ndim)

    def is_dense_tensor(self) -> bool:
        """Report whether all samples have the same shape, so that `as_array` works."""
        return self._dense is not None or len(set(self._shapes)) <= 1

    def _whole(self) -> np.ndarray[Any, Any]:
        if self._dense is None:
            if not self.is_dense_tensor():
                other = next(i for i, s in enumerate(self._shapes) if s != self._shapes[0])
                raise RuntimeError(
                    "the samples do not all have the same shape: sample 0 has "
                    f"{self._shapes[0]}, sample {other} has {self._shapes[other]}; "
                    "use views() or flat(), or pad or crop the samples"
                )
            self._dense = np.stack(self.views())
        return self._dense

    def as_array(self) -> np.ndarray[Any, Any]:
        """Return all samples as one array, with the samples along a new first axis."""
        return self._whole()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return TensorCPU(self._whole()).__array__(dtype, copy)

    def as_tensor(self) -> TensorCPU:
        """Return all samples as one tensor, with the samples along a new first axis, N."""
        return TensorCPU(self._whole(), f"N{self._layout}" if self._layout else "")

    def as_reshaped_tensor(self, shape: Sequence[int]) -> TensorCPU:
        """Return all elements as one tensor of a shape."""
        return TensorCPU(self._whole().reshape([int(n) for n in shape]))

    def as_cpu(self) -> TensorListCPU:
        """Return the list itself."""
        return self

    def data_ptr(self) -> int:
        """Return the address of the first element. All samples must lie in one place."""
        if self._flat is not None:
            return int(self._flat.ctypes.data)
        return int(self._whole().ctypes.data)

    def copy_to_external(self, ptr: Any) -> None:
        """Copy all elements, sample after sample, to an address."""
        _copy_to(ptr, self.flat()[0])

    def reinterpret(self, new_type: Any) -> None:
        """Take the bytes as elements of another type of the same size."""
        dtype = _numpy_type(new_type)
        if dtype.itemsize != self._dtype.itemsize:
            raise RuntimeError(f"reinterpret: {new_type} has another size than {self.dtype}")
        self._arrays = [view.view(dtype) for view in self.views()]
        self._dense = None if self._dense is None else self._dense.view(dtype)
        self._flat, self._dtype = None, dtype

    def reset(self) -> None:
        """Let go of all samples."""
        self._arrays, self._dense, self._flat = [], None, None
        self._shapes = []

    @staticmethod
    def broadcast(sample: TensorCPU, num_samples: int) -> TensorListCPU:
        """Return a list that has one sample several times."""
        return TensorListCPU([sample] * num_samples, sample.layout())

    @staticmethod
    def from_dlpack_list(
        list_of_objects: Sequence[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorListCPU:
        """Return a list of objects with DLPack."""
        return TensorListCPU(list(list_of_objects), layout, contiguous=contiguous)

    def __str__(self) -> str:
        return self._describe([np.array2string(view) for view in self.views()])

    def __repr__(self) -> str:
        return self._describe([])

    def _describe(self, contents: list[str]) -> str:
        """Return the list in words."""
        lines = [f"[{', '.join(contents)}]"] if contents else []
        lines.append(f"dtype={_name(self.dtype)}")
        if self._layout:
            lines.append(f'layout="{self._layout}"')
        lines += ['device="cpu"', f"num_samples={len(self)}", f"shape={self._shapes}"]
        return "TensorListCPU(\n    " + ",\n    ".join(lines) + ")"
