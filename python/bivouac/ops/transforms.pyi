# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Combine(Operator):
    """Combines several transforms into one that applies them in turn.

    The arguments are those of `bivouac.fn.transforms.combine`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        preserve: bool | None = False,
        reverse_order: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __first: Input,
        *next: Input,
        **kwargs: Any,
    ) -> DataNode: ...

class Crop(Operator):
    """Makes the transform that maps one box to another.

    The arguments are those of `bivouac.fn.transforms.crop`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        absolute: bool | None = False,
        bytes_per_sample_hint: Ints | None = [0],
        from_end: Floats | Fed | None = [1],
        from_start: Floats | Fed | None = [0],
        preserve: bool | None = False,
        reverse_order: bool | None = False,
        to_end: Floats | Fed | None = [1],
        to_start: Floats | Fed | None = [0],
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Rotation(Operator):
    """Makes the transform that turns the plane, or space around an axis.

    The arguments are those of `bivouac.fn.transforms.rotation`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        angle: float | Fed | None = None,
        axis: Floats | Fed | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        center: Floats | Fed | None = None,
        preserve: bool | None = False,
        reverse_order: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Scale(Operator):
    """Makes the transform that stretches the dimensions.

    The arguments are those of `bivouac.fn.transforms.scale`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        center: Floats | Fed | None = None,
        ndim: int | None = None,
        preserve: bool | None = False,
        reverse_order: bool | None = False,
        scale: Floats | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Shear(Operator):
    """Makes the transform that shears the plane or space.

    The arguments are those of `bivouac.fn.transforms.shear`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        angles: Floats | Fed | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        center: Floats | Fed | None = None,
        preserve: bool | None = False,
        reverse_order: bool | None = False,
        shear: Floats | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Translation(Operator):
    """Makes the transform that moves points.

    The arguments are those of `bivouac.fn.transforms.translation`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        offset: Floats | Fed | None = None,
        preserve: bool | None = False,
        reverse_order: bool | None = False,
    ) -> None: ...
    def __call__(
        self,
        __input: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
