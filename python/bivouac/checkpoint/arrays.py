"""Descriptions of arrays and scalars: the shape and dtype of a leaf without its data.

`load` takes such descriptions as leaves of an abstract tree, and `metadata` returns them.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = [
    "AbstractArray",
    "AbstractScalar",
    "AbstractShardedArray",
    "ArrayLike",
    "ArrayMetadata",
    "DType",
    "Scalar",
    "Shape",
    "ShapeDtypeStruct",
    "StorageMetadata",
    "to_shape_dtype_struct",
]

Shape: TypeAlias = tuple[int, ...]
DType: TypeAlias = np.dtype[Any]
Scalar: TypeAlias = int | float | np.number[Any] | bytes | bool
AbstractScalar: TypeAlias = int | float | np.number[Any] | bytes | bool


@runtime_checkable
class AbstractArray(Protocol):
    """An object with a shape and a dtype, such as a `ShapeDtypeStruct` of this module or of JAX.

    Attributes:
      shape: extents of the axes; None means as saved.
      dtype: type of the elements; None means as saved.
    """

    shape: Shape | None
    dtype: np.dtype[Any] | None


@runtime_checkable
class AbstractShardedArray(Protocol):
    """An `AbstractArray` that also says how devices share the array.

    Attributes:
      shape: extents of the axes; None means as saved.
      dtype: type of the elements; None means as saved.
      sharding: a JAX sharding or format; None puts the array on the host.
    """

    shape: Shape | None
    dtype: np.dtype[Any] | None
    sharding: Any


ArrayLike: TypeAlias = AbstractArray | AbstractShardedArray


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """The shape and the dtype of an array. It stands in for JAX's class where JAX is not imported.

    Attributes:
      shape: extents of the axes; None means as saved.
      dtype: type of the elements; None means as saved.
    """

    shape: Shape | None = None
    dtype: np.dtype[Any] | None = None

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", as_dtype(self.dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape or ())

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape or ():
            size *= n
        return size


@dataclasses.dataclass(frozen=True)
class StorageMetadata:
    """How an array is stored.

    Attributes:
      chunk_shape: extents of one chunk, the unit that is read.
      write_shape: extents of the part that one process wrote; None if it was not recorded.
    """

    chunk_shape: Shape | None
    write_shape: Shape | None = None


@dataclasses.dataclass(frozen=True)
class ArrayMetadata(ShapeDtypeStruct):
    """The shape, dtype and storage of an array in a checkpoint, as `metadata` returns it.

    Attributes:
      shape: extents of the axes.
      dtype: type of the elements.
      storage_metadata: how the array is stored; None if that is not known.
      value_type: the type that the checkpoint records: "np.ndarray", "jax.Array" or "scalar".
      error: why the server could not read the metadata of the array; "" if it could.
    """

    storage_metadata: StorageMetadata | None = None
    value_type: str = "np.ndarray"
    error: str = ""


def to_shape_dtype_struct(
    arr: Any,
    dtype: npt.DTypeLike | None = None,
    scalar_dtype: type[int] | type[float] | None = None,
    support_format: bool = False,
) -> Any:
    """Return the description of an array, or a scalar as it is.

    Args:
      arr: an array, an object with a shape and a dtype, or a number.
      dtype: the dtype of the description; None takes the array's.
      scalar_dtype: int or float, to which a number is converted; None keeps it.
      support_format: True keeps the format of a JAX array instead of its sharding.

    Returns:
      `jax.ShapeDtypeStruct` if JAX is imported, else `ShapeDtypeStruct`; the number for a number.

    Raises:
      ValueError: the object has neither a shape nor a numeric value.
    """
    if isinstance(arr, (bool, int, float, np.number)):
        return arr if scalar_dtype is None else scalar_dtype(arr)
    if not hasattr(arr, "shape"):
        raise ValueError(f"to_shape_dtype_struct: want an object with a shape, got {arr!r}")
    shape = tuple(arr.shape)
    kind = as_dtype(arr.dtype if dtype is None else dtype)
    jax = sys.modules.get("jax")
    if jax is None:
        return ShapeDtypeStruct(shape, kind)
    where = getattr(arr, "format" if support_format else "sharding", None)
    return jax.ShapeDtypeStruct(shape, kind, sharding=where)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of a dtype, a scalar type or a name.

    Names such as "bfloat16" need the package ml_dtypes. TypeError names a dtype that is not known.
    """
    if isinstance(dtype, str):
        try:
            return np.dtype(dtype)
        except TypeError:
            import importlib

            try:
                extra = importlib.import_module("ml_dtypes")
            except ImportError:
                raise TypeError(
                    f"dtype {dtype!r}: NumPy does not have it (install ml_dtypes)"
                ) from None
            scalar = getattr(extra, dtype, None)
            if scalar is None:
                raise
            dtype = scalar
    found: np.dtype[Any] = np.dtype(dtype)
    return found
