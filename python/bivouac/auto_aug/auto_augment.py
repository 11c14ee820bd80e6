"""AutoAugment: a sub-policy of a policy for each image.

It is the scheme of https://arxiv.org/abs/1805.09501.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bivouac import fn, types
from bivouac._pipeline import rewrite
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import nearest
from bivouac.auto_aug import _suites
from bivouac.auto_aug import augmentations as a
from bivouac.auto_aug.core import Policy, _Augmentation, select, signed_bin
from bivouac.auto_aug.core._augmentation import refuse_unused
from bivouac.errors import Invalid

__all__ = [
    "apply_auto_augment",
    "auto_augment",
    "auto_augment_image_net",
    "get_image_net_policy",
    "get_reduced_cifar10_policy",
    "get_reduced_image_net_policy",
    "get_svhn_policy",
]

_NO_BIN = -999
"""The bin of an augmentation without magnitudes, which nothing reads."""


def auto_augment(
    data: DataNode,
    policy_name: str = "image_net",
    shape: DataNode | Sequence[int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
) -> Any:
    """Apply a sub-policy of a known policy to each image.

    Args:
      data: images of layout HWC or videos of layout FHWC, of type UINT8.
      policy_name: "image_net", "reduced_image_net", "svhn" or "reduced_cifar10".
      shape: height and width of the images, a pair or a node. With it translations are shares of
        the shape, otherwise they are in pixels. reduced_image_net has no translations and takes
        neither this argument nor the limits of translations.
      fill_value: the value outside of an image that is warped. None repeats the border.
      interp_type: INTERP_LINEAR, the default, or INTERP_NN.
      max_translate_abs: the longest translation in pixels, 250 by default: a number, or one for the
        height and one for the width. It needs that there is no shape.
      max_translate_rel: the longest translation as a share of shape, 1 by default, likewise.
      seed: the seed of the draws.
    """
    if not isinstance(policy_name, str) or policy_name not in _known:
        raise Invalid(
            op="auto_augment",
            subject="policy_name",
            want=", ".join(_known),
            got=repr(policy_name),
            remedy=nearest(str(policy_name), _known),
        )
    given: dict[str, Any] = {"fill_value": fill_value, "interp_type": interp_type}
    if shape is not None:
        given["shape"] = shape
    limits = {"max_translate_abs": max_translate_abs, "max_translate_rel": max_translate_rel}
    if policy_name == "reduced_image_net":
        for name, value in {"shape": shape, **limits}.items():
            if value is not None:
                raise Invalid(
                    op="auto_augment",
                    subject=name,
                    got=f"a value, but the policy {policy_name} does not translate",
                    remedy="leave it out",
                )
        return apply_auto_augment(get_reduced_image_net_policy(), data, seed, **given)
    policy = _known[policy_name](shape is not None, max_translate_abs, max_translate_rel)
    return apply_auto_augment(policy, data, seed, **given)


def auto_augment_image_net(
    data: DataNode,
    shape: DataNode | Sequence[int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
) -> Any:
    """Apply a sub-policy of the policy for ImageNet to each image; see `auto_augment`."""
    return auto_augment(
        data,
        "image_net",
        shape,
        fill_value,
        interp_type,
        max_translate_abs,
        max_translate_rel,
        seed,
    )


@rewrite.always
def apply_auto_augment(
    policy: Policy, data: DataNode, seed: int | None = None, **kwargs: Any
) -> Any:
    """Apply a sub-policy of a policy to each sample.

    Args:
      policy: the policy. Each of its sub-policies is as likely.
      data: the batch.
      seed: the seed of the draws.
      kwargs: arguments of the augmentations. Each gets those that its function has.
    """
    op = "apply_auto_augment"
    subs = policy.sub_policies
    if len(subs) == 0:
        raise Invalid(op=op, subject=f"policy {policy.name}", want="sub-policies", got="none")
    steps = max(len(sub) for sub in subs)
    used = list(policy.augmentations.values())
    draws = fn.random.uniform(range=[0, 1], shape=(steps,), dtype=types.FLOAT, seed=seed)
    sub = fn.random.uniform(values=list(range(len(subs))), seed=seed, dtype=types.INT32)
    table = _Table(policy, steps)
    probabilities = types.Constant(table.probabilities)[sub]
    bins: Any = types.Constant(table.bins)[sub]
    chosen = types.Constant(table.choices)[sub]
    if any(one.randomly_negate for one in used):
        bins = signed_bin(bins, seed=seed, shape=(steps,))
    refuse_unused(used, kwargs, op)
    _suites.shaped(op, used, kwargs)
    for step in range(steps):
        if draws[step] < probabilities[step]:
            given = {
                "data": data,
                "magnitude_bin": bins[step],
                "num_magnitude_bins": policy.num_magnitude_bins,
                **kwargs,
            }
            data = select(table.augmentations[step], chosen[step], **given)
    return data


class _Table:
    """A _Table has what each step of each sub-policy does.

    Attributes:
      probabilities: the probability of a step, 0 for a sub-policy that has fewer steps.
      bins: the bin of a step.
      choices: the augmentation of a step, by its place in augmentations.
      augmentations: for each step the augmentations of all sub-policies, and identity.
    """

    def __init__(self, policy: Policy, steps: int) -> None:
        subs = policy.sub_policies
        self.augmentations: list[list[_Augmentation]] = []
        self.probabilities = np.zeros((len(subs), steps), np.float32)
        self.bins = np.zeros((len(subs), steps), np.int32)
        self.choices = np.zeros((len(subs), steps), np.int32)
        for step in range(steps):
            used = dict.fromkeys(sub[step][0] for sub in subs if step < len(sub))
            self.augmentations.append([*used, a.identity])
            places = {one: place for place, one in enumerate(self.augmentations[step])}
            for row, sub in enumerate(subs):
                one, probability, bin = sub[step] if step < len(sub) else (a.identity, 0.0, 0)
                self.probabilities[row, step] = probability
                self.bins[row, step] = _NO_BIN if bin is None else bin
                self.choices[row, step] = places[one]


def get_image_net_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """Return the policy that was found for ImageNet.

    Args:
      use_shape: whether translations are shares of a shape, and not in pixels.
      max_translate_abs: the longest translation in pixels, 250 by default: a number, or one for the
        height and one for the width.
      max_translate_rel: the longest translation as a share, 1 by default, likewise.
    """
    return _suites.policy(
        "image_net", "ImageNetPolicy", use_shape, max_translate_abs, max_translate_rel
    )


def get_reduced_cifar10_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """Return the policy that was found for a part of CIFAR-10; see `get_image_net_policy`."""
    return _suites.policy(
        "reduced_cifar10", "ReducedCifar10Policy", use_shape, max_translate_abs, max_translate_rel
    )


def get_svhn_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """Return the policy that was found for SVHN; see `get_image_net_policy`."""
    return _suites.policy("svhn", "SvhnPolicy", use_shape, max_translate_abs, max_translate_rel)


def get_reduced_image_net_policy() -> Policy:
    """Return the policy that was found for a part of ImageNet. It does not translate."""
    return _suites.policy("reduced_image_net", "ReducedImageNetPolicy", False, None, None)


_known: dict[str, Any] = {
    "image_net": get_image_net_policy,
    "reduced_image_net": get_reduced_image_net_policy,
    "svhn": get_svhn_policy,
    "reduced_cifar10": get_reduced_cifar10_policy,
}
