"""The parts of automatic augmentation: augmentations, policies, and the choice among them."""

from __future__ import annotations

from bivouac.auto_aug.core._augmentation import Augmentation as _Augmentation
from bivouac.auto_aug.core._select import select
from bivouac.auto_aug.core._signed import signed_bin
from bivouac.auto_aug.core.decorator import augmentation
from bivouac.auto_aug.core.policy import Policy

__all__ = ["Policy", "_Augmentation", "augmentation", "select", "signed_bin"]
