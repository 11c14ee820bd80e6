"""The checkpoints of a training run: a directory of steps, what to save when, and what to keep.

with Checkpointer(directory, preservation_policy=preservation_policies.LatestN(3)) as run:
    for step in range(start, steps):
        state = train(state)
        run.save_async(step, state)
"""

from __future__ import annotations

from bivouac.checkpoint.training import errors, preservation_policies, save_decision_policies
from bivouac.checkpoint.training._checkpointer import Checkpointer
from bivouac.checkpoint.training._metadata import CheckpointMetadata, RootMetadata
from bivouac.checkpoint.training._tiers import Tier, TierStatus, Uploads

__all__ = [
    "CheckpointMetadata",
    "Checkpointer",
    "RootMetadata",
    "Tier",
    "TierStatus",
    "Uploads",
    "errors",
    "preservation_policies",
    "save_decision_policies",
]
