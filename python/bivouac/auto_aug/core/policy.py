"""Policies of AutoAugment."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from bivouac._pipeline.refusals import WrongType
from bivouac.auto_aug.core._augmentation import Augmentation
from bivouac.errors import Invalid

__all__ = ["Policy"]

Stage = tuple[Augmentation, float, "int | None"]


class Policy:
    """A Policy is a list of sub-policies. A sample takes one of them, which is drawn.

    A sub-policy is a list of stages: an augmentation, the probability that the stage takes place,
    and a bin of magnitudes, or None for an augmentation without magnitudes.

    Args:
      name: the name, which messages have.
      num_magnitude_bins: the number of bins.
      sub_policies: the sub-policies.
    """

    def __init__(
        self,
        name: str,
        num_magnitude_bins: int,
        sub_policies: Sequence[Sequence[tuple[Augmentation, float, int | None]]],
    ) -> None:
        if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
            raise Invalid(
                op=f"policy {name}",
                subject="num_magnitude_bins",
                want="an int of at least 1",
                got=repr(num_magnitude_bins),
            )
        _check_list(name, "sub_policies", sub_policies)
        for sub_policy in sub_policies:
            _check_list(name, "a sub-policy", sub_policy)
            for stage in sub_policy:
                _check_stage(name, num_magnitude_bins, stage)
        self.name = name
        self.num_magnitude_bins = num_magnitude_bins
        self.sub_policies = _renamed(sub_policies)

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """The augmentations by name, in the order of the names."""
        found = {one.name: one for sub in self.sub_policies for one, _, _ in sub}
        return {name: found[name] for name in sorted(found)}

    def __repr__(self) -> str:
        subs = [repr([(one.name, p, bin) for one, p, bin in sub]) for sub in self.sub_policies]
        used = [f"{name!r}: {one!r}" for name, one in self.augmentations.items()]
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins!r}, "
            f"sub_policies=[{_lines(subs)}], augmentations={{{_lines(used)}}})"
        )


def _lines(texts: Sequence[str]) -> str:
    return "".join(["\n\t", ",\n\t".join(texts), "\n\t"]) if texts else ""


def _check_list(name: str, what: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise WrongType(
            op=f"policy {name}", subject=what, want="a list or a tuple", got=repr(value)
        )


def _check_stage(name: str, bins: int, stage: Any) -> None:
    """Raise an error for a stage that is wrong, and warn of one that does nothing."""
    op = f"policy {name}"
    if not isinstance(stage, (list, tuple)) or len(stage) != 3:
        raise Invalid(
            op=op,
            subject="a stage",
            want="an augmentation, a probability and a bin",
            got=repr(stage),
        )
    one, probability, bin = stage
    if not isinstance(one, Augmentation):
        raise WrongType(
            op=op,
            subject="a stage",
            want="an augmentation",
            got=repr(one),
            remedy="decorate the function with @augmentation",
        )
    if not isinstance(probability, (float, int)) or not 0 <= probability <= 1:
        raise Invalid(
            op=op,
            subject=f"probability of {one.name}",
            want="a number from 0 to 1",
            got=repr(probability),
        )
    if probability == 0:
        warnings.warn(f"{op}: {one.name} has the probability 0", stacklevel=4)
    if bin is None and one.mag_range is None:
        return
    if bin is not None and one.mag_range is None:
        warnings.warn(
            f"{op}: {one.name} has no magnitudes and ignores the bin {bin}; give None",
            stacklevel=4,
        )
    if not isinstance(bin, int) or not 0 <= bin < bins:
        raise Invalid(
            op=op, subject=f"bin of {one.name}", want=f"an int from 0 to {bins - 1}", got=repr(bin)
        )


def _renamed(
    sub_policies: Sequence[Sequence[Any]],
) -> tuple[tuple[tuple[Augmentation, float, int | None], ...], ...]:
    """Return sub-policies in which different augmentations have different names.

    If two of them share a name, all are numbered in the order of their first use.
    """
    used = list(dict.fromkeys(one for sub in sub_policies for one, _, _ in sub))
    new = {one: one for one in used}
    if len({one.name for one in used}) < len(used):
        digits = len(str(len(used) - 1))
        new = {
            one: one.augmentation(name=f"{i:0{digits}}__{one.name}") for i, one in enumerate(used)
        }
    return tuple(tuple((new[one], p, bin) for one, p, bin in sub) for sub in sub_policies)
