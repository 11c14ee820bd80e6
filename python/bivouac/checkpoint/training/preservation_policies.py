"""Policies that decide which checkpoints are kept.

Each policy is a plain value with the method ``should_preserve``, which answers for all checkpoints
at once. A `Checkpointer` asks its policy after each commit and deletes the checkpoints that it does
not keep. The last whole step always stays. The names, arguments and answers are those of
``orbax.checkpoint.v1.training.preservation_policies``; `AllPreservationPolicy` is ours.

A policy that is made only of classes of this module, without functions, has a form as data, so that
the server decides by itself. All others are asked in this process.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bivouac.checkpoint.training._metadata import CheckpointMetadata

__all__ = [
    "AllPreservationPolicy",
    "AnyPreservationPolicy",
    "BestN",
    "CustomSteps",
    "EveryNSeconds",
    "EveryNSteps",
    "EveryNStepsClosest",
    "LatestDuration",
    "LatestN",
    "PreservationContext",
    "PreservationPolicy",
    "PreserveAll",
]


@dataclasses.dataclass
class PreservationContext:
    """Facts about the process at the time of a decision. There are none yet."""


@runtime_checkable
class PreservationPolicy(Protocol):
    """A policy decides which checkpoints are kept."""

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return one answer for each checkpoint: True keeps it.

        Args:
          checkpoints: the committed checkpoints, ascending by step.
          context: facts about the process.
        """
        ...


@dataclasses.dataclass
class PreserveAll(PreservationPolicy):
    """Keep all checkpoints."""

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for each checkpoint."""
        del context
        return [True] * len(checkpoints)


@dataclasses.dataclass
class LatestN(PreservationPolicy):
    """Keep the newest checkpoints.

    Attributes:
      n: number of checkpoints; None keeps all. A negative number is a ValueError when the policy
        decides. Orbax deletes every step then.
    """

    n: int | None = None

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the last n checkpoints."""
        del context
        total = len(checkpoints)
        if self.n is None:
            return [True] * total
        if self.n < 0:
            raise ValueError(f"LatestN.n: want at least 0 or None, got {self.n}")
        return [i >= total - self.n for i in range(total)]


@dataclasses.dataclass
class LatestDuration(PreservationPolicy):
    """Keep checkpoints that are younger than a duration.

    Attributes:
      duration: age at which a checkpoint is given up.
    """

    duration: datetime.timedelta

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True from the first checkpoint on that is young enough."""
        del context
        now = datetime.datetime.now(tz=datetime.timezone.utc)
        keep, young = [], False
        for c in checkpoints:
            young = young or now - c.time <= self.duration
            keep.append(young)
        return keep


@dataclasses.dataclass
class EveryNSeconds(PreservationPolicy):
    """Keep checkpoints at least some time apart.

    Attributes:
      interval_secs: seconds from one checkpoint that is kept to the next. The first one is kept.
    """

    interval_secs: int

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the first checkpoint, and for each that comes late enough after it."""
        del context
        keep: list[bool] = []
        last: datetime.datetime | None = None
        for c in checkpoints:
            far = last is None or (c.time - last).total_seconds() >= self.interval_secs
            if far:
                last = c.time
            keep.append(far)
        return keep


@dataclasses.dataclass
class EveryNSteps(PreservationPolicy):
    """Keep checkpoints at least some steps apart.

    Attributes:
      interval_steps: number of steps; 0 is a ValueError when the policy decides.
      exact_interval: True keeps the multiples of the interval. False keeps the first checkpoint,
        and each that is at least the interval after the last kept.
      max_to_keep: number of these that are kept, the newest; None keeps all.
    """

    interval_steps: int
    exact_interval: bool = True
    max_to_keep: int | None = None

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the checkpoints that the interval selects."""
        del context
        _positive("EveryNSteps.interval_steps", self.interval_steps)
        keep: list[bool] = []
        last: int | None = None
        for c in checkpoints:
            if self.exact_interval:
                chosen = c.step % self.interval_steps == 0
            else:
                chosen = last is None or c.step - last >= self.interval_steps
            if chosen:
                last = c.step
            keep.append(chosen)
        return _newest(keep, self.max_to_keep)


@dataclasses.dataclass
class EveryNStepsClosest(PreservationPolicy):
    """Keep the checkpoints that are closest to multiples of an interval, and the newest one.

    Of two checkpoints that are equally close, the later one is kept. A step halfway between two
    multiples belongs to the even one.

    Attributes:
      interval_steps: number of steps; 0 is a ValueError when the policy decides.
      max_to_keep: number of these that are kept, the newest; None keeps all.
    """

    interval_steps: int
    max_to_keep: int | None = None

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the checkpoint closest to each multiple, and for the newest."""
        del context
        _positive("EveryNStepsClosest.interval_steps", self.interval_steps)
        closest: dict[int, int] = {}
        for i, c in enumerate(checkpoints):
            target = round(c.step / self.interval_steps) * self.interval_steps
            best = closest.get(target)
            if best is None or abs(c.step - target) <= abs(checkpoints[best].step - target):
                closest[target] = i
        kept = {*closest.values(), len(checkpoints) - 1}
        return _newest([i in kept for i in range(len(checkpoints))], self.max_to_keep)


@dataclasses.dataclass
class CustomSteps(PreservationPolicy):
    """Keep the listed steps.

    Attributes:
      steps: the steps, only as an argument of the constructor.
    """

    steps: dataclasses.InitVar[Sequence[int]]

    def __post_init__(self, steps: Sequence[int]) -> None:
        self._steps = frozenset(int(s) for s in steps)

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the listed steps."""
        del context
        return [c.step in self._steps for c in checkpoints]


@dataclasses.dataclass(kw_only=True)
class BestN(PreservationPolicy):
    """Keep the checkpoints with the best metrics. Of two equal checkpoints the later one is better.

    Attributes:
      get_metric_fn: returns the number to rank by from the metrics of a checkpoint.
      reverse: True if low numbers are better.
      n: number of checkpoints; None keeps all, 0 keeps none.
      keep_checkpoints_without_metrics: True also keeps checkpoints without metrics.
    """

    get_metric_fn: Callable[[Any], float]
    reverse: bool = False
    n: int | None = None
    keep_checkpoints_without_metrics: bool = True

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True for the n best checkpoints, and for those without metrics if wanted."""
        del context
        total = len(checkpoints)
        if self.n is None or total <= self.n:
            return [True] * total
        if self.n <= 0:
            return [False] * total
        keep = [self.keep_checkpoints_without_metrics and c.metrics is None for c in checkpoints]
        ranked = [i for i, c in enumerate(checkpoints) if c.metrics is not None]
        ranked.sort(key=lambda i: self.get_metric_fn(checkpoints[i].metrics), reverse=self.reverse)
        for i in ranked[-self.n :]:
            keep[i] = True
        return keep


@dataclasses.dataclass
class AnyPreservationPolicy(PreservationPolicy):
    """Keep the checkpoints that one of several policies keeps.

    Attributes:
      policies: the policies.
    """

    policies: Sequence[PreservationPolicy]

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True where one of the policies does."""
        answers = [p.should_preserve(checkpoints, context=context) for p in self.policies]
        return [any(a[i] for a in answers) for i in range(len(checkpoints))]


@dataclasses.dataclass
class AllPreservationPolicy(PreservationPolicy):
    """Keep the checkpoints that all of several policies keep. Orbax has no such policy.

    Attributes:
      policies: the policies; at least one.
    """

    policies: Sequence[PreservationPolicy]

    def should_preserve(
        self,
        checkpoints: Sequence[CheckpointMetadata[Any]],
        *,
        context: PreservationContext,
    ) -> Sequence[bool]:
        """Return True where all of the policies do."""
        if not self.policies:
            raise ValueError("AllPreservationPolicy: want at least one policy, got none")
        answers = [p.should_preserve(checkpoints, context=context) for p in self.policies]
        return [all(a[i] for a in answers) for i in range(len(checkpoints))]


def _newest(keep: list[bool], count: int | None) -> list[bool]:
    """Clear all but the last count flags that are set; None and 0 clear none."""
    if not count or count < 0:
        return keep
    chosen = [i for i, k in enumerate(keep) if k][-count:]
    return [i in chosen for i in range(len(keep))]


def _positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name}: want at least 1, got {value}")


def spec(policy: PreservationPolicy) -> dict[str, Any] | None:
    """Return the policy as data (``PolicySpec`` of the server), or None if it has no such form."""
    kind = type(policy)
    name, args = kind.__name__, dict[str, Any]()
    if isinstance(policy, LatestN) and kind is LatestN:
        args = {"n": policy.n}
    elif isinstance(policy, LatestDuration) and kind is LatestDuration:
        args = {"duration": policy.duration.total_seconds()}
    elif isinstance(policy, EveryNSeconds) and kind is EveryNSeconds:
        args = {"interval_secs": policy.interval_secs}
    elif isinstance(policy, EveryNSteps) and kind is EveryNSteps:
        args = {
            "interval_steps": policy.interval_steps,
            "exact_interval": policy.exact_interval,
            "max_to_keep": policy.max_to_keep,
        }
    elif isinstance(policy, EveryNStepsClosest) and kind is EveryNStepsClosest:
        args = {"interval_steps": policy.interval_steps, "max_to_keep": policy.max_to_keep}
    elif isinstance(policy, CustomSteps) and kind is CustomSteps:
        args = {"steps": sorted(policy._steps)}
    elif kind is AnyPreservationPolicy or kind is AllPreservationPolicy:
        parts = [spec(p) for p in _parts(policy)]
        if None in parts:
            return None
        args = {"policies": parts}
    elif kind is not PreserveAll:
        return None
    return {"policy": name, "args": {k: v for k, v in args.items() if v is not None}}


def check(policy: PreservationPolicy) -> None:
    """Raise ValueError if the parameters of a policy of this module make no sense."""
    if isinstance(policy, (EveryNSteps, EveryNStepsClosest)):
        _positive(f"{type(policy).__name__}.interval_steps", policy.interval_steps)
    if isinstance(policy, (LatestN, BestN)) and policy.n is not None and policy.n < 0:
        raise ValueError(f"{type(policy).__name__}.n: want at least 0 or None, got {policy.n}")
    for part in _parts(policy):
        check(part)


def _parts(policy: PreservationPolicy) -> Iterable[PreservationPolicy]:
    if isinstance(policy, (AnyPreservationPolicy, AllPreservationPolicy)):
        return policy.policies
    return ()
