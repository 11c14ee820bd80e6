# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Input, Ints
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Gaussian(Operator):
    """Adds numbers from a normal distribution to tensors.

    The arguments are those of `bivouac.fn.noise.gaussian`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        mean: float | Fed | None = 0,
        preserve: bool | None = False,
        seed: int | None = -1,
        stddev: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class SaltAndPepper(Operator):
    """Sets random pixels to white or black, each with a given probability.

    The arguments are those of `bivouac.fn.noise.salt_and_pepper`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        pepper_val: float | Fed | None = None,
        per_channel: bool | None = False,
        preserve: bool | None = False,
        prob: float | Fed | None = 0.05,
        salt_val: float | Fed | None = None,
        salt_vs_pepper: float | Fed | None = 0.5,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Shot(Operator):
    """Replaces each value by a number from a Poisson distribution whose mean is the value, like the
    noise of few photons.

    The arguments are those of `bivouac.fn.noise.shot`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        factor: float | Fed | None = 20,
        preserve: bool | None = False,
        seed: int | None = -1,
    ) -> None: ...
    def __call__(
        self,
        __data: Input,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
