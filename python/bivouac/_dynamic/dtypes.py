"""The types of elements in dynamic mode."""

from __future__ import annotations

import builtins
import enum
from typing import Any

import numpy as np

from bivouac import errors
from bivouac._pipeline.constants import to_dali_type, to_numpy_type
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.refusals import WrongType

__all__ = [
    "DType", "DataType", "ImageType", "InterpType", "bfloat16", "bool", "dtype", "float16",
    "float32", "float64", "int16", "int32", "int64", "int8", "type_id", "uint16", "uint32",
    "uint64", "uint8",
]  # fmt: skip


class Kind(enum.Enum):
    """A Kind is what the elements are: integers, floats, booleans, or members of an enumeration."""

    signed = enum.auto()
    unsigned = enum.auto()
    float = enum.auto()
    bool = enum.auto()
    enum = enum.auto()


_exponents = {8: 4, 16: 5, 32: 8, 64: 11}
_by_id: dict[DALIDataType, DType] = {}
_by_name: dict[str, DType] = {}


class DType:
    """A DType is the type of the elements of a Tensor or Batch, such as `uint8`.

    A call makes a Tensor of this type.

    Attributes:
      kind: what the elements are.
      bits: bits of an element.
      bytes: bytes of an element in memory.
      exponent_bits, significand_bits: of a float; None otherwise.
      type_id: the DALIDataType, or None.
      name: "u8", "f32", "bool".
    """

    Kind = Kind

    def __init__(
        self,
        kind: enum.Enum,
        bits: int,
        exponent_bits: int | None = None,
        significand_bits: int | None = None,
        bytes: int | None = None,
        type_id: DALIDataType | None = None,
        name: str | None = None,
        docs: str | None = None,
    ) -> None:
        self.kind = kind
        self.bits = bits
        self.bytes = bytes or (bits + 7) // 8
        self.type_id = type_id
        self.exponent_bits = self.significand_bits = None
        if kind is Kind.float:
            usual = _exponents.get(bits)
            if usual is None and not (exponent_bits and significand_bits):
                raise errors.Invalid(
                    subject="bits of a float", want="8, 16, 32 or 64", got=str(bits)
                )
            self.exponent_bits = exponent_bits or usual
            assert self.exponent_bits is not None
            self.significand_bits = significand_bits or bits - self.exponent_bits - 1
        self.name = name or self._name()
        self.__doc__ = docs or f"Elements of type {self.name}."
        if type_id is not None:
            _by_id[type_id] = self
        _by_name.setdefault(self.name, self)

    def _name(self) -> str:
        letters = {Kind.signed: "i", Kind.unsigned: "u", Kind.float: "f"}
        if self.kind is Kind.bool:
            return "bool"
        if self.kind not in letters:
            raise errors.Invalid(subject="DType", want="a name for an enumeration", got="none")
        exponent, significand = self.exponent_bits, self.significand_bits
        if (self.bits, exponent, significand) == (16, 8, 7):
            return "bfloat16"
        if (self.bits, exponent, significand) == (19, 8, 10):
            return "tf32"
        text = f"{letters[self.kind]}{self.bits}"
        if self.kind is Kind.float and exponent != _exponents.get(self.bits):
            text += f"e{exponent}m{significand}"
        return text

    def _parts(self) -> tuple[Any, ...]:
        own = self.type_id if self.kind is Kind.enum else None
        return (self.kind, self.bits, self.exponent_bits, self.significand_bits, own)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        more = ""
        if self.exponent_bits is not None:
            more = f", exponent_bits={self.exponent_bits}, significand_bits={self.significand_bits}"
        return f"DType(kind={self.kind}, bits={self.bits}{more})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, DType) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __call__(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a Tensor of this type; see `tensor`."""
        from bivouac._dynamic.values import tensor

        if "dtype" in kwargs:
            raise errors.Invalid(subject="dtype", want="no dtype: the type has one", got="another")
        return tensor(data, self, *args, **kwargs)

    @staticmethod
    def from_type_id(type_id: DALIDataType) -> DType:
        """Return the type of a DALIDataType. One without elements is a KeyError."""
        return _by_id[type_id]

    @staticmethod
    def from_fw_type(numpy_type: Any) -> DType:
        """Return the type of a type of numpy or torch."""
        return _by_id[to_dali_type(numpy_type)]

    @staticmethod
    def parse(name: str) -> DType:
        """Return the type of a name, such as "i32" or "f16"."""
        found = _by_name.get(name)
        if found is None:
            names = ", ".join(_by_name)
            raise errors.NotFound(subject="type", want=f"one of {names}", got=repr(name))
        return found


int8 = DType(Kind.signed, 8, type_id=DALIDataType.INT8)
int16 = DType(Kind.signed, 16, type_id=DALIDataType.INT16)
int32 = DType(Kind.signed, 32, type_id=DALIDataType.INT32)
int64 = DType(Kind.signed, 64, type_id=DALIDataType.INT64)
uint8 = DType(Kind.unsigned, 8, type_id=DALIDataType.UINT8)
uint16 = DType(Kind.unsigned, 16, type_id=DALIDataType.UINT16)
uint32 = DType(Kind.unsigned, 32, type_id=DALIDataType.UINT32)
uint64 = DType(Kind.unsigned, 64, type_id=DALIDataType.UINT64)
float16 = DType(Kind.float, 16, type_id=DALIDataType.FLOAT16)
float32 = DType(Kind.float, 32, type_id=DALIDataType.FLOAT)
float64 = DType(Kind.float, 64, type_id=DALIDataType.FLOAT64)
bool = DType(Kind.bool, 8, type_id=DALIDataType.BOOL)
bfloat16 = DType(Kind.float, 16, 8, 7)
DataType = DType(Kind.enum, 32, type_id=DALIDataType.DATA_TYPE, name="DataType")
ImageType = DType(Kind.enum, 32, type_id=DALIDataType.IMAGE_TYPE, name="ImageType")
InterpType = DType(Kind.enum, 32, type_id=DALIDataType.INTERP_TYPE, name="InterpType")


def dtype(*args: Any) -> DType:
    """Return the type of a DType, a DALIDataType, a name, or a type of numpy or torch."""
    if len(args) != 1:
        return DType(*args)
    given = args[0]
    if isinstance(given, DType):
        return given
    if isinstance(given, DALIDataType):
        return DType.from_type_id(given)
    if isinstance(given, str):
        return DType.parse(given)
    return DType.from_fw_type(given)


def type_id(dtype: Any) -> DALIDataType | None:
    """Return the DALIDataType of a type."""
    if isinstance(dtype, DType):
        return dtype.type_id
    if isinstance(dtype, DALIDataType):
        return dtype
    raise errors.Invalid(subject="type", want="a DType or a DALIDataType", got=repr(dtype))


def numpy_of(dtype: DType) -> np.dtype[Any]:
    """Return the type of numpy. Members of enumerations are int32."""
    if dtype.kind is Kind.enum:
        return np.dtype(np.int32)
    if dtype.type_id is None:
        raise WrongType(
            subject="dtype", want="a type of elements that operators have", got=str(dtype)
        )
    found: np.dtype[Any] = np.dtype(to_numpy_type(dtype.type_id))
    return found


def of_numpy(dtype: np.dtype[Any]) -> DType:
    """Return the type of the elements of an array."""
    if dtype.name == "bfloat16":
        return bfloat16
    return _by_id[to_dali_type(dtype)]
