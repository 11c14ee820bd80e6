"""Magnitudes with signs that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bivouac import fn, types
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import WrongType
from bivouac.errors import Invalid

__all__ = ["SignedMagnitudeBin", "signed_bin"]


class SignedMagnitudeBin:
    """A SignedMagnitudeBin is a bin of magnitudes with a sign for each sample; see `signed_bin`.

    An index picks the bins and signs of one step, if each sample has several.

    Attributes:
      bin: the bin: a number or a node.
      random_sign: a node of 0 for magnitudes as they are, and 1 for negative ones.
      signed_magnitude_idx: twice the bin plus random_sign.
    """

    def __init__(self, bin: int | DataNode, random_sign: Any, signed_magnitude_idx: Any) -> None:
        self.bin = bin
        self.random_sign = random_sign
        self.signed_magnitude_idx = signed_magnitude_idx

    def __getitem__(self, idx: int) -> SignedMagnitudeBin:
        picked = self.bin if isinstance(self.bin, int) else self.bin[idx]
        return SignedMagnitudeBin(picked, self.random_sign[idx], self.signed_magnitude_idx[idx])


def signed_bin(
    magnitude_bin: int | DataNode,
    random_sign: DataNode | None = None,
    seed: int | None = None,
    shape: Sequence[int] | None = None,
) -> SignedMagnitudeBin:
    """Return a bin whose magnitude is negative for half of the samples.

    Augmentations with `randomly_negate` take it. Call it outside of all branches: so the signs are
    drawn once for the whole batch.

    Args:
      magnitude_bin: a number from 0 to the number of bins - 1, or a node of such numbers.
      random_sign: a node of 0 and 1, where 1 makes the magnitude negative. By default it is drawn.
      seed: the seed of the draw.
      shape: the shape of the draw.
    """
    if not isinstance(magnitude_bin, (int, DataNode)):
        raise WrongType(
            op="signed_bin",
            subject="magnitude_bin",
            want="an int, or a DataNode of ints from 0 to the number of bins - 1",
            got=repr(magnitude_bin),
        )
    if random_sign is None:
        random_sign = fn.random.uniform(
            values=[0, 1], dtype=types.INT32, seed=seed, shape=shape
        )
    elif seed is not None or shape is not None:
        raise Invalid(
            op="signed_bin",
            subject="random_sign",
            got="signs, and a seed or shape to draw them",
            remedy="leave out the seed and the shape",
        )
    return SignedMagnitudeBin(magnitude_bin, random_sign, 2 * magnitude_bin + random_sign)
