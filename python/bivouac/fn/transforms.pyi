# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Floats, Input, Ints
from bivouac._pipeline.node import DataNode

def combine(
    __first: Input,
    *next: Input,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    preserve: bool | None = False,
    reverse_order: bool | None = False,
) -> DataNode:
    """Combines several transforms into one that applies them in turn.

    Inputs:
      first: the transform that is applied first.
      next: the transforms that are applied to its result; up to 98 of them.

    Outputs:
      output: the combined transform.

    Args:
      reverse_order: Whether the last transform is applied first.
    """
    ...

def crop(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    absolute: bool | None = False,
    bytes_per_sample_hint: Ints | None = [0],
    from_end: Floats | Fed | None = [1],
    from_start: Floats | Fed | None = [0],
    preserve: bool | None = False,
    reverse_order: bool | None = False,
    to_end: Floats | Fed | None = [1],
    to_start: Floats | Fed | None = [0],
) -> DataNode:
    """Makes the transform that maps one box to another.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      absolute: Whether start and end of a box are swapped if the end is smaller; otherwise such a
        box mirrors.
      from_end: End of the box that is mapped, for each dimension, or one value for all.
      from_start: Start of the box that is mapped, for each dimension, or one value for all.
      reverse_order: Whether the input transform is applied last instead of first.
      to_end: End of the box that it is mapped to, for each dimension, or one value for all.
      to_start: Start of the box that it is mapped to, for each dimension, or one value for all.
    """
    ...

def rotation(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    angle: float | Fed,
    axis: Floats | Fed | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    center: Floats | Fed | None = None,
    preserve: bool | None = False,
    reverse_order: bool | None = False,
) -> DataNode:
    """Makes the transform that turns the plane, or space around an axis.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      angle: The angle in degrees. It is counterclockwise if the vertical axis points up, and in
        space if the axis points towards the viewer. Required.
      axis: The axis to turn around, of any length. If it is given, the transform has 3 dimensions,
        not 2.
      center: The point that does not move, by default the origin.
      reverse_order: Whether the input transform is applied last instead of first.
    """
    ...

def scale(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    center: Floats | Fed | None = None,
    ndim: int | None = None,
    preserve: bool | None = False,
    reverse_order: bool | None = False,
    scale: Floats | Fed,
) -> DataNode:
    """Makes the transform that stretches the dimensions.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      center: The point that does not move, by default the origin.
      ndim: The number of dimensions, if one scale is given for all.
      reverse_order: Whether the input transform is applied last instead of first.
      scale: The scale of each dimension, or one for all. Required.
    """
    ...

def shear(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    angles: Floats | Fed | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    center: Floats | Fed | None = None,
    preserve: bool | None = False,
    reverse_order: bool | None = False,
    shear: Floats | Fed | None = None,
) -> DataNode:
    """Makes the transform that shears the plane or space.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      angles: Angles in degrees. Their tangents are used in place of shear.
      center: The point that does not move, by default the origin.
      reverse_order: Whether the input transform is applied last instead of first.
      shear: Elements of the matrix outside the diagonal, row by row: 2 values in the plane, 6 in
        space.
    """
    ...

def translation(
    __input: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    offset: Floats | Fed,
    preserve: bool | None = False,
    reverse_order: bool | None = False,
) -> DataNode:
    """Makes the transform that moves points.

    Inputs:
      input: a transform that is applied first; may be left out.

    Outputs:
      output: the transform, a float32 matrix of n rows and n+1 columns.

    Args:
      offset: The distance that points move: one number per dimension. Required.
      reverse_order: Whether the input transform is applied last instead of first.
    """
    ...
