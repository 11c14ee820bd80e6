"""Python values as JSON: states of loaders and of random generators.

Plain JSON stays as it is. Most other values become an object with one key that begins with "$":

    {"$tuple":[…]} {"$bytes":"base64"} {"$float":"nan"} {"$dict":[[key,value],…]}
    {"$array":{"dtype":…,"shape":[…],"data":"base64"}}, and "$scalar" alike

A tensor is `{"tensor":"uint8","shape":[…],"hex":…}`, as in docs/compat/torchdata.md, so that
`bivouac data` reads the states of torchdata's loaders.

Only these types come back. Nothing is unpickled, so a checkpoint never runs code.
"""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._tree import is_torch_tensor, type_text

__all__ = ["decode", "encode"]

_TENSOR = {"tensor", "shape", "hex"}


def encode(value: Any, path: str) -> Any:
    """Return a value as JSON.

    Args:
      value: None, booleans, numbers, strings, bytes, arrays, tensors and containers of them.
      path: name of the value in errors.

    Raises:
      ValueError: the value holds something else; the error names where.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind not in "OV":
        return {"$scalar": _array(np.asarray(value))}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        return {"$array": _array(value)}
    if is_torch_tensor(value):
        array = _of_tensor(value, path)
        text = np.ascontiguousarray(array).tobytes().hex()
        return {"tensor": array.dtype.name, "shape": list(array.shape), "hex": text}
    if isinstance(value, Mapping):
        return _mapping(value, path)
    if isinstance(value, list):
        return [encode(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return {"$tuple": [encode(item, f"{path}[{i}]") for i, item in enumerate(value)]}
    raise errors.Invalid(
        op="bivouac.Job",
        subject=path,
        want="None, numbers, strings, bytes, arrays, tensors and dictionaries, lists and tuples",
        got=f"type {type_text(value)}",
        remedy="return only such values from the state of the loader",
    )


def _mapping(value: Mapping[Any, Any], path: str) -> Any:
    plain = all(isinstance(key, str) and not key.startswith("$") for key in value)
    if plain and set(value) != _TENSOR:
        return {str(key): encode(item, f"{path}.{key}") for key, item in value.items()}
    pairs = [[encode(k, f"a key of {path}"), encode(v, f"{path}.{k}")] for k, v in value.items()]
    return {"$dict": pairs}


def _array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def _of_tensor(tensor: Any, path: str) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = tensor.detach().cpu().numpy()
    except TypeError as err:
        raise errors.Unsupported(
            op="bivouac.Job", subject=path, want="a tensor with a type of numpy", got=str(err)
        ) from err
    return array


def decode(value: Any) -> Any:
    """Return the value that `encode` has written."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == _TENSOR:
        return _to_tensor(value)
    if len(value) != 1 or not next(iter(value)).startswith("$"):
        return {key: decode(item) for key, item in value.items()}
    tag, item = next(iter(value.items()))
    if tag == "$tuple":
        return tuple([decode(part) for part in item])
    if tag == "$bytes":
        return base64.b64decode(item)
    if tag == "$float":
        return float(item)
    if tag == "$dict":
        return {decode(key): decode(part) for key, part in item}
    if tag in ("$array", "$scalar"):
        raw = np.frombuffer(base64.b64decode(item["data"]), np.dtype(item["dtype"]))
        array = raw.reshape(item["shape"]).copy()
        return array[()] if tag == "$scalar" else array
    raise errors.Unsupported(
        op="bivouac.Job", subject=tag, want="a value of this version", remedy="use a newer Bivouac"
    )


def _to_tensor(value: dict[str, Any]) -> Any:
    """Return a tensor, or an array if torch is not imported."""
    raw = np.frombuffer(bytes.fromhex(value["hex"]), np.dtype(value["tensor"]))
    array = raw.reshape(value["shape"]).copy()
    torch = sys.modules.get("torch")
    return array if torch is None else torch.from_numpy(array)
