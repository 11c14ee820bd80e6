"""The enumerations of pipelines, with DALI's names and numbers."""

from __future__ import annotations

import enum

__all__ = ["DALIDataType", "DALIImageType", "DALIInterpType", "OperatorConcurrency", "StreamPolicy"]


class Numbered(enum.Enum):
    """A Numbered is a member of an enumeration that converts to its number."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class DALIDataType(Numbered):
    """DALIDataType is the type of elements, and of arguments of operators."""

    NO_TYPE = -1
    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    FLOAT16 = 8
    FLOAT = 9
    FLOAT64 = 10
    BOOL = 11
    STRING = 12
    _BOOL_VEC = 13
    _INT32_VEC = 14
    _STRING_VEC = 15
    _FLOAT_VEC = 16
    FEATURE = 17
    _FEATURE_VEC = 18
    _FEATURE_DICT = 19
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24
    _TENSOR_LAYOUT_VEC = 25
    _DATA_TYPE_VEC = 26
    _INT64_VEC = 27


class DALIImageType(Numbered):
    """DALIImageType is the colour space of a decoded image."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(Numbered):
    """DALIInterpType is a filter of resampling."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class StreamPolicy(enum.Enum):
    """StreamPolicy says how operators of a GPU share streams. Bivouac keeps it in the graph."""

    SINGLE = 16
    PER_BACKEND = 32
    PER_OPERATOR = 48
    UNSPECIFIED = 0


class OperatorConcurrency(enum.Enum):
    """OperatorConcurrency says which operators run at once. Bivouac keeps it in the graph.

    It does not change how Bivouac runs a pipeline: samples run in parallel with any value.
    """

    NONE = 2
    BACKEND = 4
    FULL = 6
    UNSPECIFIED = 0
