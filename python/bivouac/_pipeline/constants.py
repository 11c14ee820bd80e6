"""Constants of a graph: numbers of expressions, and nodes that give every sample the same value."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.refusals import WrongType

if TYPE_CHECKING:
    from bivouac._pipeline.node import DataNode

__all__ = [
    "Constant",
    "ConstantNode",
    "ScalarConstant",
    "is_scalar",
    "to_dali_type",
    "to_numpy_type",
]

_T = DALIDataType

BOOLS = (_T.BOOL,)
INTEGERS = (_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64)
FLOATS = (_T.FLOAT16, _T.FLOAT, _T.FLOAT64)
INTEGER_LIKE = BOOLS + INTEGERS

_enumerations: dict[type, DALIDataType] = {
    DALIDataType: _T.DATA_TYPE,
    DALIImageType: _T.IMAGE_TYPE,
    DALIInterpType: _T.INTERP_TYPE,
}

_by_name = {t.name.lower(): t for t in INTEGERS} | {
    "bool": _T.BOOL,
    "bool_": _T.BOOL,
    "boolean": _T.BOOL,
    "sbyte": _T.INT8,
    "byte": _T.UINT8,
    "ubyte": _T.UINT8,
    "short": _T.INT16,
    "ushort": _T.UINT16,
    "long": _T.INT64,
    "ulong": _T.UINT64,
    "half": _T.FLOAT16,
    "float16": _T.FLOAT16,
    "float": _T.FLOAT,
    "float32": _T.FLOAT,
    "float64": _T.FLOAT64,
    "double": _T.FLOAT64,
}

Scalar = Union[bool, int, float]


def to_dali_type(framework_type: Any) -> DALIDataType:
    """Return the type for a type of numpy or torch.

    Raises:
      TypeError: there is none.
    """
    named = isinstance(framework_type, type)
    text = framework_type.__qualname__ if named else str(framework_type)
    found = _by_name.get(text.removeprefix("torch."))
    if found is None:
        raise WrongType(
            subject="dtype", want="a type that has a DALIDataType", got=repr(framework_type)
        )
    return found


def to_numpy_type(dali_type: DALIDataType) -> Any:
    """Return the numpy type for a type. A type of other values is a KeyError."""
    import numpy as np

    if dali_type not in INTEGER_LIKE + FLOATS:
        raise KeyError(dali_type)
    name = {_T.FLOAT: "float32", _T.BOOL: "bool"}.get(dali_type, dali_type.name.lower())
    return np.dtype(name).type


class ScalarConstant:
    """A ScalarConstant is a number of an expression, with the type that promotions see.

    `Constant` makes one. Numbers of Python are BOOL, INT32 and FLOAT.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, dtype: DALIDataType | None = None) -> None:
        self.shape: list[int] = []
        held = getattr(value, "dtype", None)
        if held is not None:
            dtype = dtype or to_dali_type(held)
            value = value.item()
        if not isinstance(value, (builtins.bool, int, float)):
            raise WrongType(
                subject="constant", want="a bool, an int or a float", got=type(value).__name__
            )
        if dtype is None:
            of = {builtins.bool: _T.BOOL, int: _T.INT32}
            dtype = next((of[t] for t in of if isinstance(value, t)), _T.FLOAT)
        self.dtype: DALIDataType = dtype
        self.value: Scalar
        if dtype in BOOLS:
            self.value = builtins.bool(value)
        elif dtype in INTEGERS:
            self.value = int(value)
        elif dtype in FLOATS:
            self.value = float(value)
        else:
            raise WrongType(subject="type of a constant", want="a type of numbers", got=str(dtype))

    def bool(self) -> ScalarConstant:
        """Return the constant with another type. So do the methods that follow."""
        return ScalarConstant(self.value, _T.BOOL)

    def int8(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.INT8)

    def int16(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.INT16)

    def int32(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.INT32)

    def int64(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.INT64)

    def uint8(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.UINT8)

    def uint16(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.UINT16)

    def uint32(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.UINT32)

    def uint64(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.UINT64)

    def float16(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.FLOAT16)

    def float32(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.FLOAT)

    def float64(self) -> ScalarConstant:
        return ScalarConstant(self.value, _T.FLOAT64)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, ScalarConstant):
            return self.value == other.value and self.dtype is other.dtype
        return other.__eq__(self)

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, ScalarConstant):
            return not self == other
        return other.__ne__(self)

    def _only(self, types: tuple[DALIDataType, ...], into: str) -> Scalar:
        if self.dtype not in types:
            want = "a floating-point type" if into == "float" else "an integer type or BOOL"
            raise WrongType(subject=f"{into}() of a constant", want=want, got=str(self.dtype))
        return self.value

    def __bool__(self) -> builtins.bool:
        return builtins.bool(self._only(INTEGER_LIKE, "bool"))

    def __int__(self) -> int:
        return int(self._only(INTEGER_LIKE, "int"))

    def __float__(self) -> float:
        return float(self._only(FLOATS, "float"))

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"

    def __repr__(self) -> str:
        return f"{self.value}"


def is_array(value: Any) -> bool:
    """Report whether a value is an array or a number of numpy, or a tensor of torch."""
    kind = type(value)
    names = f"{kind.__module__}.{kind.__qualname__}"
    if names in ("numpy.ndarray", "torch.Tensor"):
        return True
    return names.startswith(("numpy.int", "numpy.uint", "numpy.float"))


def is_scalar(value: Any) -> bool:
    """Report whether a value is passed to an operator as it is. Other values become nodes."""
    if value is None or isinstance(value, (bool, int, float)):
        return True
    return not is_array(value) or _scalar_shape(value.shape)


def _scalar_shape(shape: Any) -> bool:
    if shape is None or isinstance(shape, int):
        return shape in (None, 1)
    return tuple(shape) in ((), (1,))


def Constant(
    value: Any,
    dtype: DALIDataType | None = None,
    shape: Sequence[int] | None = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return a constant: a number of an expression, or a node that gives it to every sample.

    A number becomes a ScalarConstant unless a shape, layout, device or other argument is given.
    Arrays of float64 become float32. Without a dtype, 64-bit integers become 32-bit ones.

    Args:
      value: a number, a list of numbers, a member of an enumeration, or an array.
      dtype: the type.
      shape: the shape. A number fills it.
      layout: the layout of a node.
      device: where a node is.
      kwargs: arguments of the operator `constant`.

    Raises:
      TypeError: the value is of another type.
      OverflowError: an integer of an array does not fit 32 bits.
    """
    of_enumeration = type(value) in _enumerations or dtype in _enumerations.values()
    node = (
        device is not None
        or is_array(value)
        and len(value.shape) > 0
        or isinstance(value, (list, tuple))
        or of_enumeration
        or not _scalar_shape(shape)
        or bool(kwargs)
        or layout is not None
    )
    if node:
        return ConstantNode(device, value, dtype, shape, layout, **kwargs)
    return ScalarConstant(value, dtype)


def ConstantNode(
    device: str | None,
    value: Any,
    dtype: DALIDataType | None,
    shape: Sequence[int] | None,
    layout: str | None,
    **kwargs: Any,
) -> DataNode:
    """Return a node that gives every sample the same value; see `Constant`."""
    from bivouac._pipeline import operators

    if is_array(value):
        value = _narrow(value, dtype)
        held = to_dali_type(value.dtype)
        if shape is not None:
            value = value.reshape(shape)
        shape = list(value.shape)
        data: Any = value.flatten().tolist()
    else:
        several = isinstance(value, (list, tuple))
        if shape is None:
            shape = (len(value),) if several else ()
        held = _type_of(value if several else [value])
        data = value
    many = data if isinstance(data, (list, tuple)) else [data]
    given = {"idata": [int(v) for v in many]} if held in INTEGER_LIKE else {"fdata": data}
    made: DataNode = operators.function(
        "constant",
        (),
        dict(
            device=device or "cpu",
            **given,
            shape=shape,
            dtype=dtype or held,
            layout=layout,
            **kwargs,
        ),
    )
    return made


def _narrow(value: Any, dtype: DALIDataType | None) -> Any:
    """Return an array of the types that a constant node holds."""
    if not type(value).__module__.startswith("numpy"):
        return value
    import numpy as np

    if value.dtype == np.float64:
        return value.astype(np.float32)
    if dtype is None and value.dtype in (np.int64, np.uint64):
        limits = np.iinfo(np.int32 if value.dtype == np.int64 else np.uint32)
        if value.size and not limits.min <= value.min().item() <= value.max().item() <= limits.max:
            low, high = value.min().item(), value.max().item()
            got = low if low < limits.min else high
            raise OverflowError(f"constant: want values of {limits.dtype}, got {got}")
        return value.astype(limits.dtype)
    return value


def _type_of(values: Sequence[Any]) -> DALIDataType:
    """Return the type that holds all values. No values are FLOAT."""
    kinds = {type(v) for v in values}
    found = kinds & set(_enumerations)
    if found:
        if len(kinds) > 1:
            raise WrongType(
                subject="constant",
                want="members of one enumeration",
                got=", ".join(sorted(k.__name__ for k in kinds)),
            )
        return _enumerations[found.pop()]
    for value in values:
        if not isinstance(value, (bool, int, float)):
            raise WrongType(
                subject="constant",
                want="numbers, members of an enumeration, or an array",
                got=type(value).__name__,
            )
    if not values or any(isinstance(v, float) for v in values):
        return _T.FLOAT
    return _T.BOOL if all(isinstance(v, bool) for v in values) else _T.INT32
