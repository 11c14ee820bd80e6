"""Types and constants of pipelines, with DALI's names and numbers."""

from __future__ import annotations

import enum

from bivouac._pipeline.constants import (
    Constant,
    ConstantNode,
    ScalarConstant,
    to_dali_type,
    to_numpy_type,
)
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.message import CPU_ONLY as CPU_ONLY_DEVICE_ID
from bivouac._pipeline.sources import BatchInfo, SampleInfo

__all__ = [
    "ANY_DATA", "BGR", "BOOL", "BatchInfo", "CPU_ONLY_DEVICE_ID", "CUDAStream", "Constant",
    "ConstantNode", "DALIDataType", "DALIImageType", "DALIInterpType", "DATA_TYPE", "FEATURE",
    "FLOAT", "FLOAT16", "FLOAT64", "GRAY", "IMAGE_TYPE", "INT16", "INT32", "INT64", "INT8",
    "INTERP_CUBIC", "INTERP_GAUSSIAN", "INTERP_LANCZOS3", "INTERP_LINEAR", "INTERP_NN",
    "INTERP_TRIANGULAR", "INTERP_TYPE", "NCHW", "NFCHW", "NFHWC", "NHWC", "NO_TYPE",
    "PYTHON_OBJECT", "PipelineAPIType", "RGB", "SAME", "STRING", "SampleInfo", "ScalarConstant",
    "TENSOR_LAYOUT", "TensorLayout", "UINT16", "UINT32", "UINT64", "UINT8", "YCbCr",
    "to_dali_type", "to_numpy_type",
]  # fmt: skip

NO_TYPE = DALIDataType.NO_TYPE
UINT8 = DALIDataType.UINT8
UINT16 = DALIDataType.UINT16
UINT32 = DALIDataType.UINT32
UINT64 = DALIDataType.UINT64
INT8 = DALIDataType.INT8
INT16 = DALIDataType.INT16
INT32 = DALIDataType.INT32
INT64 = DALIDataType.INT64
FLOAT16 = DALIDataType.FLOAT16
FLOAT = DALIDataType.FLOAT
FLOAT64 = DALIDataType.FLOAT64
BOOL = DALIDataType.BOOL
STRING = DALIDataType.STRING
FEATURE = DALIDataType.FEATURE
IMAGE_TYPE = DALIDataType.IMAGE_TYPE
DATA_TYPE = DALIDataType.DATA_TYPE
INTERP_TYPE = DALIDataType.INTERP_TYPE
TENSOR_LAYOUT = DALIDataType.TENSOR_LAYOUT
PYTHON_OBJECT = DALIDataType.PYTHON_OBJECT

RGB = DALIImageType.RGB
BGR = DALIImageType.BGR
GRAY = DALIImageType.GRAY
YCbCr = DALIImageType.YCbCr
ANY_DATA = DALIImageType.ANY_DATA

INTERP_NN = DALIInterpType.INTERP_NN
INTERP_LINEAR = DALIInterpType.INTERP_LINEAR
INTERP_CUBIC = DALIInterpType.INTERP_CUBIC
INTERP_LANCZOS3 = DALIInterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = DALIInterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = DALIInterpType.INTERP_GAUSSIAN

NCHW = "CHW"
NHWC = "HWC"
NFHWC = "FHWC"
NFCHW = "FCHW"
SAME = ""


class TensorLayout(str):
    """A TensorLayout names the axes of a tensor, a character for each."""

    __slots__ = ()


class PipelineAPIType(enum.Enum):
    """The ways to run a pipeline, which are not to be mixed."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class CUDAStream:
    """A CUDAStream holds the address of a stream. Bivouac uses none."""

    def __init__(self, ptr: int = 0) -> None:
        self._ptr = ptr

    @property
    def ptr(self) -> int:
        """The address."""
        return self._ptr
