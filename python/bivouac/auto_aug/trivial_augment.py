"""TrivialAugment: one augmentation of each image, with any magnitude.

It is the scheme of https://arxiv.org/abs/2103.10158.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bivouac import fn, types
from bivouac._pipeline import rewrite
from bivouac._pipeline.node import DataNode
from bivouac.auto_aug import _suites
from bivouac.auto_aug.core import _Augmentation, select, signed_bin
from bivouac.auto_aug.core._augmentation import refuse_unused
from bivouac.errors import Invalid

__all__ = ["apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide"]


def trivial_augment_wide(
    data: DataNode,
    num_magnitude_bins: int = 31,
    shape: DataNode | Sequence[int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    excluded: Sequence[str] | None = None,
) -> Any:
    """Apply one augmentation of the wide suite to each image, with a magnitude that is drawn.

    Args:
      data: images of layout HWC or videos of layout FHWC, of type UINT8.
      num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
      shape: height and width of the images, a pair or a node. With it translations are shares of
        the shape, otherwise they are in pixels.
      fill_value: the value outside of an image that is warped. None repeats the border.
      interp_type: INTERP_LINEAR, the default, or INTERP_NN.
      max_translate_abs: the longest translation in pixels, 32 by default: a number, or one for the
        height and one for the width. It needs that there is no shape.
      max_translate_rel: the longest translation as a share of shape, 1 by default, likewise.
      seed: the seed of the draws.
      excluded: names of augmentations that the suite shall not have.
    """
    suite = get_trivial_augment_wide_suite(
        shape is not None, max_translate_abs, max_translate_rel
    )
    given: dict[str, Any] = {"fill_value": fill_value, "interp_type": interp_type}
    if shape is not None:
        given["shape"] = shape
    return apply_trivial_augment(
        _suites.without("trivial_augment_wide", suite, excluded),
        data,
        num_magnitude_bins=num_magnitude_bins,
        seed=seed,
        **given,
    )


@rewrite.always
def apply_trivial_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> Any:
    """Apply one augmentation of a list to each sample, with a magnitude that is drawn.

    Args:
      augmentations: the augmentations, each of which is as likely.
      data: the batch.
      num_magnitude_bins: into how many bins the ranges of magnitudes are divided.
      seed: the seed of the draws.
      kwargs: arguments of the augmentations. Each gets those that its function has.
    """
    op = "apply_trivial_augment"
    _suites.check_bins(op, num_magnitude_bins)
    if len(augmentations) == 0:
        raise Invalid(op=op, subject="augmentations", want="at least one", got="none")
    bins: Any = fn.random.uniform(
        values=list(range(num_magnitude_bins)), dtype=types.INT32, seed=seed
    )
    if any(one.randomly_negate for one in augmentations):
        bins = signed_bin(bins, seed=seed)
    refuse_unused(augmentations, kwargs, op)
    _suites.shaped(op, augmentations, kwargs)
    chosen = fn.random.uniform(
        values=list(range(len(augmentations))), seed=seed, dtype=types.INT32
    )
    return select(
        augmentations,
        chosen,
        data=data,
        magnitude_bin=bins,
        num_magnitude_bins=num_magnitude_bins,
        **kwargs,
    )


def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """Return the 14 augmentations of the wide suite.

    Args:
      use_shape: whether translations are shares of a shape, and not in pixels.
      max_translate_abs: the longest translation in pixels, 32 by default: a number, or one for the
        height and one for the width.
      max_translate_rel: the longest translation as a share, 1 by default, likewise.
    """
    return _suites.suite("trivial_augment_wide", use_shape, max_translate_abs, max_translate_rel)
