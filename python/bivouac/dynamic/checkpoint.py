"""Checkpoints of readers and generators, in DALI's files both ways."""

from bivouac._dynamic.checkpoint import Checkpoint as Checkpoint
from bivouac._dynamic.checkpoint import current as current

__all__ = ["Checkpoint", "current"]
