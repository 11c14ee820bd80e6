"""Suites and policies of augmentations, made from the tables of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bivouac._pipeline.refusals import WrongType, nearest
from bivouac.auto_aug import _tables
from bivouac.auto_aug import augmentations as a
from bivouac.auto_aug.core import Policy, _Augmentation
from bivouac.errors import Invalid

__all__ = ["check_bins", "policy", "shaped", "suite", "without"]

_enhancing = ("brightness", "color", "contrast")

Limit = Any
"""A number, or one for the height and one for the width."""


def suite(
    name: str, use_shape: bool, max_translate_abs: Limit, max_translate_rel: Limit
) -> list[_Augmentation]:
    """Return a suite: translations with their limits, and then the augmentations of a table."""
    limits = "rand_augment" if name.startswith("rand_augment") else name
    translate_x, translate_y = _translations(
        limits, use_shape, max_translate_abs, max_translate_rel
    )
    return [translate_x, translate_y, *map(_augmentation, _tables.SUITES[name])]


def policy(
    table: str, name: str, use_shape: bool, max_translate_abs: Limit, max_translate_rel: Limit
) -> Policy:
    """Return a policy of a table, with a name of its own."""
    known = {
        one.name: one
        for one in suite("auto_augment", use_shape, max_translate_abs, max_translate_rel)
    }
    return Policy(
        name,
        _tables.POLICY_BINS,
        [[_stage(text, known) for text in sub.split("; ")] for sub in _tables.POLICIES[table]],
    )


def _stage(
    text: str, known: dict[str, _Augmentation]
) -> tuple[_Augmentation, float, int | None]:
    name, probability, *bin = text.split()
    return known[name], float(probability), int(bin[0]) if bin else None


def _augmentation(text: str) -> _Augmentation:
    """Return the augmentation of a text such as "rotate 0 30 signed"."""
    name, *rest = text.split()
    one: _Augmentation = getattr(a, name)
    if not rest:
        return one
    signed = "signed" in rest
    to_param: Any = one.mag_to_param
    if name in _enhancing:
        to_param = a.shift_enhance_range if signed else None
    elif name == "sharpness":
        to_param = a.sharpness_kernel if signed else a.sharpness_kernel_shifted
    elif name in ("rotate", "solarize"):
        to_param = None
    return one.augmentation((_number(rest[0]), _number(rest[1])), signed, to_param)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _translations(
    limits: str, use_shape: bool, max_translate_abs: Limit, max_translate_rel: Limit
) -> tuple[_Augmentation, _Augmentation]:
    """Return the translations along the width and along the height."""
    if not isinstance(use_shape, bool):
        raise WrongType(op=limits, subject="use_shape", want="True or False", got=repr(use_shape))
    longest: float
    longest, share = _tables.LIMITS[limits]
    given, other = max_translate_abs, max_translate_rel
    if use_shape:
        given, other, longest = other, given, share
    if other is not None:
        takes, refuses = "max_translate_abs", "max_translate_rel"
        if use_shape:
            takes, refuses = refuses, takes
        raise Invalid(
            op=limits,
            subject=refuses,
            want=f"{takes} {'with' if use_shape else 'without'} shapes",
            got=repr(other),
            remedy=f"give {takes}, or {'no shape' if use_shape else 'a shape'}",
        )
    height, width = _pair(limits, longest if given is None else given)
    if use_shape:
        along = a.translate_x, a.translate_y
    else:
        along = a.translate_x_no_shape, a.translate_y_no_shape
    return along[0].augmentation((0, width), True), along[1].augmentation((0, height), True)


def _pair(op: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)):
        return value, value
    if len(value) != 2:
        raise Invalid(
            op=op,
            subject="the longest translation",
            want="a number, or one for the height and one for the width",
            got=repr(value),
        )
    return value[0], value[1]


def without(op: str, suite: Sequence[_Augmentation], excluded: Any) -> list[_Augmentation]:
    """Return a suite without the augmentations of some names."""
    names = [one.name for one in suite]
    for name in excluded or ():
        if name not in names:
            raise Invalid(
                op=op,
                subject="excluded",
                want="names of the suite: " + ", ".join(names),
                got=repr(name),
                remedy=nearest(str(name), names),
            )
    return [one for one in suite if one.name not in (excluded or ())]


def check_bins(op: str, num_magnitude_bins: Any) -> None:
    """Raise an error for a number of bins that is not one."""
    if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
        raise Invalid(
            op=op,
            subject="num_magnitude_bins",
            want="an int of at least 1",
            got=repr(num_magnitude_bins),
        )


def shaped(op: str, augmentations: Sequence[_Augmentation], given: dict[str, Any]) -> None:
    """Raise an error if a translation by a share has no shape."""
    for one in augmentations:
        if one.op in (a.translate_x.op, a.translate_y.op) and one.missing(given) == ["shape"]:
            raise Invalid(
                op=op,
                subject=f"augmentation {one.name}",
                want="shape, the height and width of the images",
                got="no shape",
                remedy="give shape, such as fn.peek_image_shape of the encoded images, or take a "
                "suite with use_shape=False",
            )
