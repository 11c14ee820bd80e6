# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Input, Ints, Text
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode

def max(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the largest element. NaN is ignored. If there is no other element, the result is the
    smallest finite number of the type.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one element, of the type of the input, for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def mean(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the mean of elements.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one number for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      dtype: Type of the output: by default float32; also the type of the input, in which the sum
        wraps around and the mean is truncated.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def mean_square(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the mean of the squares of elements.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one number for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      dtype: Type of the output: by default float32; also the integer type of 64 bits for integers,
        to which the mean is truncated.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def min(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the smallest element. NaN is ignored. If there is no other element, the result is the
    largest finite number of the type.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one element, of the type of the input, for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def rms(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the square root of the mean of the squares of elements.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one number for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      dtype: Type of the output: by default float32; also the type of the input, in which sums of
        squares wrap around and the root is truncated.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def std_dev(
    __data: Input,
    __mean: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    ddof: int | None = 0,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the standard deviation: the square root of the mean of the squared distances of
    elements from a mean.

    Inputs:
      data: integers of 8 to 64 bits or float32.
      mean: float32 means: one for each element of the output, or one for all.

    Outputs:
      output: one float32 for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      ddof: Number that is subtracted from the number of elements before the division.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def sum(
    __input: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Adds up elements.

    Inputs:
      input: integers of 8 to 64 bits or float32.

    Outputs:
      output: one number for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      dtype: Type of the output: by default an integer type of 64 bits for integers, float32 for
        float32; also the type of the input, in which sums wrap around, and float32 for integers of
        up to 32 bits.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...

def variance(
    __data: Input,
    __mean: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    axes: Ints | None = None,
    axis_names: Text | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    ddof: int | None = 0,
    keep_dims: bool | None = False,
    preserve: bool | None = False,
) -> DataNode:
    """Returns the variance: the mean of the squared distances of elements from a mean.

    Inputs:
      data: integers of 8 to 64 bits or float32.
      mean: float32 means: one for each element of the output, or one for all.

    Outputs:
      output: one float32 for all elements that are folded together.

    Args:
      axes: Axes to fold, by default all, by number; a negative number counts from the end.
      axis_names: Axes to fold, by default all, by the letters of the layout.
      ddof: Number that is subtracted from the number of elements before the division.
      keep_dims: Whether folded axes stay, with extent 1.
    """
    ...
