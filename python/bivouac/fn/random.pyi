# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Floats, Input, Ints
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode

def beta(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    alpha: float | Fed | None = 1,
    beta: float | Fed | None = 1,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Draws numbers between 0 and 1 from a beta distribution.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      numbers: numbers.

    Args:
      alpha: First parameter of the distribution, above 0.
      beta: Second parameter of the distribution, above 0.
      dtype: Output type: float32, the default, or float64.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
    """
    ...

def choice(
    __a: Input,
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    p: Floats | Fed | None = None,
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Chooses among the input's elements along its first axis. If the input is a scalar n, chooses
    among the numbers from 0 to n-1.

    Inputs:
      a: the number of choices (an integer), or a tensor of choices.
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      chosen: choices.

    Args:
      p: Probability of every choice; by default all are equally likely.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
    """
    ...

def coin_flip(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    probability: float | Fed | None = 0.5,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
) -> DataNode:
    """Draws 1 with a given probability, and 0 otherwise.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      flips: zeros and ones.

    Args:
      dtype: Output type: int32, the default, bool or uint8.
      probability: Probability of 1. As in DALI, a number below 0 means 0, and a number above 1
        means 1.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
    """
    ...

def normal(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    mean: float | Fed | None = 0,
    preserve: bool | None = False,
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
    stddev: float | Fed | None = 1,
) -> DataNode:
    """Draws numbers from a normal distribution.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      numbers: numbers.

    Args:
      dtype: Output type: float32, the default, float64 or an integer, to which numbers are rounded.
      mean: Mean of the distribution.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
      stddev: Standard deviation of the distribution.
    """
    ...

def uniform(
    __shape_like: Input | None = None,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    dtype: DALIDataType | None = None,
    preserve: bool | None = False,
    range: Floats | Fed | None = [-1, 1],
    seed: int | None = -1,
    shape: Ints | Fed | None = None,
    values: Floats | Fed | None = None,
) -> DataNode:
    """Draws numbers evenly from a range without its end, or from a list of values.

    Inputs:
      shape_like: tensors whose shape the samples take; may be left out.

    Outputs:
      numbers: numbers.

    Args:
      dtype: Output type: float32, the default, float64 or an integer, to which numbers are rounded.
      range: Start and end of the range. The end is excluded.
      seed: Seed of this operator; -1: the pipeline's seed.
      shape: Shape of a sample; by default a scalar. Not together with an input.
      values: The values to choose from, all equally likely. If they are given, range is not used.
    """
    ...
