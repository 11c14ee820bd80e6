# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from typing import Any
from bivouac._pipeline.annotations import Fed, Floats, Input, Ints
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Operator

class Beta(Operator):
    """Draws numbers between 0 and 1 from a beta distribution.

    The arguments are those of `bivouac.fn.random.beta`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        alpha: float | Fed | None = 1,
        beta: float | Fed | None = 1,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Choice(Operator):
    """Chooses among the input's elements along its first axis. If the input is a scalar n, chooses
    among the numbers from 0 to n-1.

    The arguments are those of `bivouac.fn.random.choice`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        p: Floats | Fed | None = None,
        preserve: bool | None = False,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __a: Input,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class CoinFlip(Operator):
    """Draws 1 with a given probability, and 0 otherwise.

    The arguments are those of `bivouac.fn.random.coin_flip`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        probability: float | Fed | None = 0.5,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Normal(Operator):
    """Draws numbers from a normal distribution.

    The arguments are those of `bivouac.fn.random.normal`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        mean: float | Fed | None = 0,
        preserve: bool | None = False,
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
        stddev: float | Fed | None = 1,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...

class Uniform(Operator):
    """Draws numbers evenly from a range without its end, or from a list of values.

    The arguments are those of `bivouac.fn.random.uniform`.
    """

    def __init__(
        self,
        *,
        device: str = "cpu",
        name: str | None = None,
        bytes_per_sample_hint: Ints | None = [0],
        dtype: DALIDataType | None = None,
        preserve: bool | None = False,
        range: Floats | Fed | None = [-1, 1],
        seed: int | None = -1,
        shape: Ints | Fed | None = None,
        values: Floats | Fed | None = None,
    ) -> None: ...
    def __call__(
        self,
        __shape_like: Input | None = None,
        /,
        **kwargs: Any,
    ) -> DataNode: ...
