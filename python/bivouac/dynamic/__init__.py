"""Operators that are called like functions, one call at a time: DALI's dynamic mode.

    import bivouac.dynamic as dyn

    reader = dyn.readers.File(file_root="images")
    for jpegs, labels in reader.next_epoch(batch_size=64):
        images = dyn.resize(dyn.decoders.image(jpegs), size=[224, 224])
        train(images.torch(), labels.torch())

The names are those of `nvidia.dali.experimental.dynamic`. Calls are computed in the side-car, in
the background; what asks for elements, shapes or types of a value waits for it. Functions of
operators are in the modules that `bivouac.fn` has.
"""

from __future__ import annotations

from bivouac._dynamic import functions as _functions
from bivouac._dynamic.batches import Batch as Batch
from bivouac._dynamic.batches import as_batch as as_batch
from bivouac._dynamic.batches import batch as batch
from bivouac._dynamic.context import EvalContext as EvalContext
from bivouac._dynamic.context import EvalMode as EvalMode
from bivouac._dynamic.context import ThreadPool as ThreadPool
from bivouac._dynamic.context import get_num_threads as get_num_threads
from bivouac._dynamic.context import set_num_threads as set_num_threads
from bivouac._dynamic.device import Device as Device
from bivouac._dynamic.device import DeviceLike as DeviceLike
from bivouac._dynamic.device import Stream as Stream
from bivouac._dynamic.device import device as device
from bivouac._dynamic.device import get_current_stream as get_current_stream
from bivouac._dynamic.device import get_default_stream as get_default_stream
from bivouac._dynamic.device import set_current_stream as set_current_stream
from bivouac._dynamic.device import set_default_stream as set_default_stream
from bivouac._dynamic.device import stream as stream
from bivouac._dynamic.dtypes import DataType as DataType
from bivouac._dynamic.dtypes import DType as DType
from bivouac._dynamic.dtypes import ImageType as ImageType
from bivouac._dynamic.dtypes import InterpType as InterpType
from bivouac._dynamic.dtypes import bfloat16 as bfloat16
from bivouac._dynamic.dtypes import bool as bool
from bivouac._dynamic.dtypes import dtype as dtype
from bivouac._dynamic.dtypes import float16 as float16
from bivouac._dynamic.dtypes import float32 as float32
from bivouac._dynamic.dtypes import float64 as float64
from bivouac._dynamic.dtypes import int8 as int8
from bivouac._dynamic.dtypes import int16 as int16
from bivouac._dynamic.dtypes import int32 as int32
from bivouac._dynamic.dtypes import int64 as int64
from bivouac._dynamic.dtypes import type_id as type_id
from bivouac._dynamic.dtypes import uint8 as uint8
from bivouac._dynamic.dtypes import uint16 as uint16
from bivouac._dynamic.dtypes import uint32 as uint32
from bivouac._dynamic.dtypes import uint64 as uint64
from bivouac._dynamic.images import imread as imread
from bivouac._dynamic.sources import ExternalSource as ExternalSource
from bivouac._dynamic.values import Tensor as Tensor
from bivouac._dynamic.values import as_tensor as as_tensor
from bivouac._dynamic.values import tensor as tensor
from bivouac.dynamic import capture as capture
from bivouac.dynamic import checkpoint as checkpoint
from bivouac.dynamic import math as math
from bivouac.dynamic import pytorch as pytorch
from bivouac.dynamic import random as random

_functions.fill()
