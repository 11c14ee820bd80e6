# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac._pipeline.annotations import Fed, Input, Ints
from bivouac._pipeline.node import DataNode

def gaussian(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    mean: float | Fed | None = 0,
    preserve: bool | None = False,
    seed: int | None = -1,
    stddev: float | Fed | None = 1,
) -> DataNode:
    """Adds numbers from a normal distribution to tensors.

    Inputs:
      data: tensors of integers or float32.

    Outputs:
      noisy: tensors like the input.

    Args:
      mean: Mean of the numbers.
      seed: Seed of this operator; -1: the pipeline's seed.
      stddev: Standard deviation of the numbers.
    """
    ...

def salt_and_pepper(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    pepper_val: float | Fed | None = None,
    per_channel: bool | None = False,
    preserve: bool | None = False,
    prob: float | Fed | None = 0.05,
    salt_val: float | Fed | None = None,
    salt_vs_pepper: float | Fed | None = 0.5,
    seed: int | None = -1,
) -> DataNode:
    """Sets random pixels to white or black, each with a given probability.

    Inputs:
      data: tensors of integers or float32.

    Outputs:
      noisy: tensors like the input.

    Args:
      pepper_val: The value of black; by default the least integer, or -1 for floats.
      per_channel: Whether to draw for every channel separately instead of for the whole pixel.
      prob: Probability that a pixel is set.
      salt_val: The value of white; by default the largest integer, or 1 for floats.
      salt_vs_pepper: Probability that a pixel that is set becomes white.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...

def shot(
    __data: Input,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Ints | None = [0],
    factor: float | Fed | None = 20,
    preserve: bool | None = False,
    seed: int | None = -1,
) -> DataNode:
    """Replaces each value by a number from a Poisson distribution whose mean is the value, like the
    noise of few photons.

    Inputs:
      data: tensors of integers or float32.

    Outputs:
      noisy: tensors like the input.

    Args:
      factor: Value of one photon: larger values give more noise. With 0 or less all results are 0.
      seed: Seed of this operator; -1: the pipeline's seed.
    """
    ...
