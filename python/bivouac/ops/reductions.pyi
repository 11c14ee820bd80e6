# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Max(Operator):
    """Returns the largest element. NaN is ignored. If there is no other element, the result is the
    smallest finite number of the type.

    The arguments are those of `bivouac.fn.reductions.max`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Mean(Operator):
    """Returns the mean of elements.

    The arguments are those of `bivouac.fn.reductions.mean`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class MeanSquare(Operator):
    """Returns the mean of the squares of elements.

    The arguments are those of `bivouac.fn.reductions.mean_square`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Min(Operator):
    """Returns the smallest element. NaN is ignored. If there is no other element, the result is the
    largest finite number of the type.

    The arguments are those of `bivouac.fn.reductions.min`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class RMS(Operator):
    """Returns the square root of the mean of the squares of elements.

    The arguments are those of `bivouac.fn.reductions.rms`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class StdDev(Operator):
    """Returns the standard deviation: the square root of the mean of the squared distances of
    elements from a mean.

    The arguments are those of `bivouac.fn.reductions.std_dev`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        ddof: int | None = 0,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __mean: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Sum(Operator):
    """Adds up elements.

    The arguments are those of `bivouac.fn.reductions.sum`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Variance(Operator):
    """Returns the variance: the mean of the squared distances of elements from a mean.

    The arguments are those of `bivouac.fn.reductions.variance`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        axes: Ints | None = None,
        axis_names: Text | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        ddof: int | None = 0,
        keep_dims: bool | None = False,
        preserve: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        __mean: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
