"""Element types: names of the protocol, numpy's types, ml_dtypes' types and torch's types."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bivouac import errors

__all__ = ["carrier", "name_of", "numpy_dtype", "torch_dtype", "torch_name"]

_plain = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128"
).split()

_extended = {
    "bfloat16": 2,
    "int2": 1,
    "int4": 1,
    "uint2": 1,
    "uint4": 1,
    "float8_e3m4": 1,
    "float8_e4m3": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e4m3b11fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "float4_e2m1fn": 1,
    "float6_e2m3fn": 1,
    "float6_e3m2fn": 1,
}
"""Types that numpy does not have itself, with the bytes of an element."""

_numpy: dict[str, np.dtype[Any]] = {n: np.dtype(n).newbyteorder("<") for n in _plain}
_carriers: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype("<u2")}


def carrier(name: str) -> np.dtype[Any]:
    """Return the numpy type that elements of a type are moved as."""
    size = _extended.get(name)
    if size is None:
        return _numpy[name]
    return _carriers[size]


def name_of(dtype: np.dtype[Any]) -> str | None:
    """Return the protocol's name of a numpy type, or None if the protocol does not have it."""
    name = dtype.name
    if name in _extended:
        return name if dtype.fields is None and dtype.subdtype is None else None
    return name if dtype.kind in "biufc" and name in _numpy else None


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the numpy type of a name. Types of ml_dtypes need that package."""
    found = _numpy.get(name)
    if found is not None:
        return found
    if name not in _extended:
        raise errors.Unsupported(op="load", want="a known element type", got=name)
    try:
        import ml_dtypes

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError) as err:
        raise errors.Unsupported(
            op="load",
            want=f"numpy's type for {name}",
            got=str(err),
            remedy="install ml_dtypes, or load with an abstract tree of torch tensors",
        ) from err
    _numpy[name] = dtype
    return dtype


def torch_name(dtype: Any) -> str | None:
    """Return the protocol's name of a torch type, or None if the protocol does not have it."""
    name = str(dtype).removeprefix("torch.")
    name = {"half": "float16", "float": "float32", "double": "float64"}.get(name, name)
    return name if name in _numpy and name in _plain or name in _extended else None


def torch_dtype(name: str) -> Any:
    """Return the torch type of a name. torch must have been imported."""
    found = getattr(sys.modules["torch"], name, None)
    if found is None:
        raise errors.Unsupported(op="load", want=f"torch's type for {name}", got="none")
    return found
