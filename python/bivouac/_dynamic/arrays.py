"""Arrays of what a program gives as data."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bivouac._dynamic import dtypes
from bivouac._dynamic.dtypes import DType
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.refusals import WrongType
from bivouac._pipeline.tensors import as_numpy

__all__ = ["from_python", "is_array", "shared"]

Array = np.ndarray[Any, Any]

_enumerations: dict[type, DType] = {
    DALIDataType: dtypes.DataType,
    DALIImageType: dtypes.ImageType,
    DALIInterpType: dtypes.InterpType,
}


def is_array(data: Any) -> bool:
    """Report whether data is an array of any library."""
    return any(
        hasattr(data, name) for name in ("__array__", "__cuda_array_interface__", "__dlpack__")
    )


def shared(data: Any) -> Array:
    """Return an array that has the memory of data. Memory that must not change is copied."""
    array = as_numpy(data)
    if array.dtype.byteorder == ">" or array.dtype.byteorder == "=" and sys.byteorder == "big":
        array = array.astype(array.dtype.newbyteorder("<"))
    if not array.flags.writeable:
        array = array.copy()
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def from_python(data: Any, dtype: DType | None) -> tuple[Array, DType]:
    """Return an array of numbers, of lists of them, or of members of an enumeration.

    Without a type, integers become int32 or uint32, and floats float32.
    """
    if dtype is not None:
        array = np.array(data, dtypes.numpy_of(dtype))
        return array, dtype
    array = np.array(data)
    if array.dtype in (np.int64, np.uint64) or _is_large(array):
        array = _narrow(array)
    elif array.dtype == np.float64:
        array = array.astype(np.float32)
    elif array.dtype == object:
        return _members(array)
    elif array.dtype.kind not in "biuf":
        raise WrongType(subject="data", want="numbers, booleans or arrays", got=type(data).__name__)
    return array, dtypes.of_numpy(array.dtype)


def _is_large(array: Array) -> bool:
    """Report whether an array has integers beyond 64 bits."""
    return array.dtype == object and array.size > 0 and all(type(x) is int for x in array.flat)


def _narrow(array: Array) -> Array:
    """Return integers as int32, or as uint32 if they need it."""
    if not array.size:
        return array.astype(np.int32)
    low, high = int(array.min()), int(array.max())
    dtype: Any = np.uint32 if low >= 0 and high >> 31 else np.int32
    limits = np.iinfo(dtype)
    if low < limits.min or high > limits.max:
        got = low if low < limits.min else high
        raise OverflowError(f"want integers of {limits.dtype}, got {got}")
    return array.astype(dtype)


def _members(array: Array) -> tuple[Array, DType]:
    """Return the numbers of members of an enumeration."""
    if not array.size:
        raise ValueError("want data with a type, got an empty array of objects")
    dtype = _enumerations.get(type(array.flat[0]))
    if dtype is None:
        raise WrongType(
            subject="data",
            want="numbers, booleans, arrays or members of an enumeration",
            got=type(array.flat[0]).__name__,
        )
    return np.vectorize(int, otypes=[np.int32])(array), dtype
