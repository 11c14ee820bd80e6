"""Further tiers of a run: places to which its steps are copied in the background."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from bivouac import _url, errors
from bivouac.checkpoint.training import preservation_policies as keep
from bivouac.checkpoint.training import save_decision_policies as decide

__all__ = ["Tier", "TierStatus", "Uploads"]

PATIENCE = 600.0
"""Seconds that `close` waits for the last copies."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tier:
    """A Tier is a further place for the steps of a run, such as a bucket behind a local disk.

    Steps are committed in the directory of the run, the nearest tier. Then they are copied to the
    further tiers in the background, compared with their checksums.

    Attributes:
      directory: a directory, or a URL such as "s3://bucket/runs/7".
      name: how events and errors call the tier; "" is the directory.
      save_decision_policy: decides which committed steps are copied; None copies every step. After
        a signal the newest step is copied, whatever the policy says.
      preservation_policy: decides which steps stay in this tier; None keeps all.
      hold: how many of the newest steps that wait for this tier stay on the disk although its own
        policy gives them up.
      no_read_back: True trusts the tier with the bytes that it acknowledged. Otherwise each byte
        that is sent is read back.
    """

    directory: str | os.PathLike[str]
    name: str = ""
    save_decision_policy: decide.SaveDecisionPolicy | None = None
    preservation_policy: keep.PreservationPolicy | None = None
    hold: int = 1
    no_read_back: bool = False

    def _wire(self) -> dict[str, Any]:
        """Return the tier as data for the server."""
        out: dict[str, Any] = {"directory": _url.absolute(self.directory)}
        if self.name:
            out["name"] = self.name
        if isinstance(self.hold, bool) or self.hold < 1:
            raise errors.Invalid(
                op="Tier", subject="hold", want="at least 1 step", got=repr(self.hold)
            )
        out["hold"] = int(self.hold)
        if self.no_read_back:
            out["no_read_back"] = True
        if self.save_decision_policy is not None:
            spec = decide.spec(self.save_decision_policy)
            out["save_policy"] = _known("save_decision_policy", self.save_decision_policy, spec)
        if self.preservation_policy is not None:
            keep.check(self.preservation_policy)
            spec = keep.spec(self.preservation_policy)
            out["preservation_policy"] = _known(
                "preservation_policy", self.preservation_policy, spec
            )
        return out


def _known(what: str, policy: object, spec: dict[str, Any] | None) -> dict[str, Any]:
    """Return a policy as data, or raise Unsupported for a policy of the user."""
    if spec is None:
        raise errors.Unsupported(
            op="Tier",
            subject=what,
            want="a policy of bivouac.checkpoint.training without functions of the user",
            got=type(policy).__name__,
            remedy="the side-car decides about copies: use FixedIntervalPolicy or LatestN",
        )
    return spec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Uploads:
    """Uploads bounds the copies to all further tiers together.

    Attributes:
      rate: the most bytes in a second, sent or read back; 0 is no bound.
      memory: the most bytes in flight; 0 is 64 MiB.
      patience: seconds that `close` waits for steps that a tier still wants; 0 does not wait.
    """

    rate: int = 0
    memory: int = 0
    patience: float = PATIENCE

    def _wire(self) -> dict[str, Any]:
        """Return the bounds as data for the server."""
        for name in ("rate", "memory", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not value >= 0 or value == float("inf"):
                raise errors.Invalid(
                    op="Uploads", subject=name, want="a number, at least 0", got=repr(value)
                )
        return {
            "rate": int(self.rate),
            "memory": int(self.memory),
            "patience": float(self.patience),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TierStatus:
    """What a tier has.

    Attributes:
      tier: name of the tier; of the nearest one its directory.
      known: True if the tier was reached. Otherwise steps is empty.
      steps: the steps that are whole in the tier, ascending.
      waiting: steps that will be copied to the tier, in this order. The first may be on its way.
      error: why the last copy failed; None after a success.
    """

    tier: str
    known: bool
    steps: tuple[int, ...]
    waiting: tuple[int, ...]
    error: errors.BivouacError | None = None


def arguments(tiers: Sequence[Tier], uploads: Uploads | None) -> dict[str, Any]:
    """Return the arguments of training.open for further tiers."""
    for tier in tiers:
        if not isinstance(tier, Tier):
            raise errors.Invalid(
                op="Checkpointer", subject="tiers", want="objects Tier", got=type(tier).__name__
            )
    bounds = Uploads() if uploads is None else uploads
    wire = bounds._wire()
    return {"tiers": [tier._wire() for tier in tiers], "uploads": wire} if tiers else {}


def status(entry: Mapping[str, Any]) -> TierStatus:
    """Return what the server said of a tier."""
    error = entry.get("error")
    return TierStatus(
        tier=str(entry["tier"]),
        known=bool(entry["known"]),
        steps=tuple(entry["steps"]),
        waiting=tuple(entry["waiting"]),
        error=None if error is None else errors._from_wire(error),
    )
