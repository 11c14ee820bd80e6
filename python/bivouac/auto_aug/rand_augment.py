"""RandAugment: several augmentations of each image, all with one magnitude.

It is the scheme of https://arxiv.org/abs/1909.13719.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from bivouac import fn, types
from bivouac._pipeline import rewrite
from bivouac._pipeline.node import DataNode
from bivouac.auto_aug import _suites
from bivouac.auto_aug.core import _Augmentation, select, signed_bin
from bivouac.auto_aug.core._augmentation import refuse_unused
from bivouac.errors import Invalid

__all__ = [
    "apply_rand_augment",
    "get_rand_augment_non_monotonic_suite",
    "get_rand_augment_suite",
    "rand_augment",
]


def rand_augment(
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    shape: DataNode | Sequence[int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: Sequence[str] | None = None,
) -> Any:
    """Apply n augmentations of the suite to each image, with the magnitude m.

    Args:
      data: images of layout HWC or videos of layout FHWC, of type UINT8.
      n: how many augmentations a sample takes, one after the other.
      m: the bin of their magnitudes: 0 to num_magnitude_bins - 1.
      num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
      shape: height and width of the images, a pair or a node. With it translations are shares of
        the shape, otherwise they are in pixels.
      fill_value: the value outside of an image that is warped. None repeats the border.
      interp_type: INTERP_LINEAR, the default, or INTERP_NN.
      max_translate_abs: the longest translation in pixels, 100 by default: a number, or one for the
        height and one for the width. It needs that there is no shape.
      max_translate_rel: the longest translation as a share of shape, 100/224 by default, likewise.
      seed: the seed of the draws.
      monotonic_mag: whether a larger bin always changes an image more. Otherwise the suite has the
        ranges of AutoAugment; see `get_rand_augment_non_monotonic_suite`.
      excluded: names of augmentations that the suite shall not have.
    """
    get = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    suite = get(shape is not None, max_translate_abs, max_translate_rel)
    given: dict[str, Any] = {"fill_value": fill_value, "interp_type": interp_type}
    if shape is not None:
        given["shape"] = shape
    return apply_rand_augment(
        _suites.without("rand_augment", suite, excluded),
        data,
        n,
        m,
        num_magnitude_bins=num_magnitude_bins,
        seed=seed,
        **given,
    )


@rewrite.always
def apply_rand_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> Any:
    """Apply n augmentations of a list to each sample, with the magnitude m.

    Args:
      augmentations: the augmentations, each of which is as likely.
      data: the batch.
      n: how many augmentations a sample takes, one after the other.
      m: the bin of their magnitudes: 0 to num_magnitude_bins - 1.
      num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
      seed: the seed of the draws.
      kwargs: arguments of the augmentations. Each gets those that its function has.
    """
    op = "apply_rand_augment"
    if not isinstance(n, int) or n < 0:
        raise Invalid(op=op, subject="n", want="an int of at least 0", got=repr(n))
    _suites.check_bins(op, num_magnitude_bins)
    if not isinstance(m, int) or not 0 <= m < num_magnitude_bins:
        raise Invalid(
            op=op, subject="m", want=f"an int from 0 to {num_magnitude_bins - 1}", got=repr(m)
        )
    if n == 0:
        warnings.warn(f"{op}: n is 0, so nothing is applied", stacklevel=2)
        return data
    if len(augmentations) == 0:
        raise Invalid(
            op=op, subject="augmentations", want="at least one, unless n is 0", got="none"
        )
    steps = () if n == 1 else (n,)
    chosen = fn.random.uniform(
        values=list(range(len(augmentations))), seed=seed, shape=steps, dtype=types.INT32
    )
    bins: Any = m
    signed = any(one.randomly_negate for one in augmentations)
    if signed:
        bins = signed_bin(m, seed=seed, shape=steps)
    refuse_unused(augmentations, kwargs, op)
    _suites.shaped(op, augmentations, kwargs)
    for step in range(n):
        given = {
            "data": data,
            "magnitude_bin": bins[step] if signed and n > 1 else bins,
            "num_magnitude_bins": num_magnitude_bins,
            **kwargs,
        }
        data = select(augmentations, chosen if n == 1 else chosen[step], **given)
    return data


def get_rand_augment_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """Return the augmentations of RandAugment.

    Args:
      use_shape: whether translations are shares of a shape, and not in pixels.
      max_translate_abs: the longest translation in pixels, 100 by default: a number, or one for the
        height and one for the width.
      max_translate_rel: the longest translation as a share, 100/224 by default, likewise.
    """
    return _suites.suite("rand_augment", use_shape, max_translate_abs, max_translate_rel)


def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """Return the augmentations of RandAugment with the ranges of AutoAugment.

    In brightness, contrast, color, sharpness, posterize and solarize a larger bin does not always
    change an image more. The arguments are those of `get_rand_augment_suite`.
    """
    return _suites.suite(
        "rand_augment_non_monotonic", use_shape, max_translate_abs, max_translate_rel
    )
