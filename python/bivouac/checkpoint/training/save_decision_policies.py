"""Policies that decide whether a step is saved.

Each policy is a plain value with the method ``should_save``. A `Checkpointer` asks its policy
before each save that is not forced. The names, arguments and answers are those of
``orbax.checkpoint.v1.training.save_decision_policies``; `AllSavePolicy` is ours.

A policy that is made only of classes of this module has a form as data, so that the server decides
by itself. A subclass, or a class with its own ``should_save``, is asked in this process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bivouac.checkpoint.options import MultiprocessingOptions
    from bivouac.checkpoint.training._metadata import CheckpointMetadata

__all__ = [
    "AllSavePolicy",
    "AnySavePolicy",
    "ContinuousCheckpointingPolicy",
    "DecisionContext",
    "FixedIntervalPolicy",
    "InitialSavePolicy",
    "PreemptionCheckpointingPolicy",
    "SaveDecisionPolicy",
    "SpecificStepsPolicy",
]


@dataclasses.dataclass(kw_only=True)
class DecisionContext:
    """Facts about the process at the time of a decision.

    Attributes:
      is_saving_in_progress: an earlier save is not durable yet.
      reached_preemption: the process was told that it will be stopped.
      multiprocessing_options: the processes of the job.
    """

    is_saving_in_progress: bool
    reached_preemption: bool
    multiprocessing_options: MultiprocessingOptions


@runtime_checkable
class SaveDecisionPolicy(Protocol):
    """A policy decides whether a step is saved."""

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True to save the step.

        Args:
          step: the step in question; its ``time`` is the time of the question.
          previous_steps: the checkpoints that exist, ascending by step.
          context: facts about the process.
        """
        ...


@dataclasses.dataclass
class FixedIntervalPolicy(SaveDecisionPolicy):
    """Save steps that are multiples of an interval.

    Attributes:
      interval: number of steps; 0 raises ZeroDivisionError when the policy decides.
    """

    interval: int

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if the step is a multiple of the interval."""
        del previous_steps, context
        return step.step % self.interval == 0


@dataclasses.dataclass
class SpecificStepsPolicy(SaveDecisionPolicy):
    """Save the listed steps.

    Attributes:
      steps: the steps; any container of integers.
    """

    steps: Container[int]

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if the step is listed."""
        del previous_steps, context
        return step.step in self.steps


class InitialSavePolicy(SaveDecisionPolicy):
    """Save when no checkpoint exists yet."""

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if there are no checkpoints."""
        del step, context
        return not previous_steps


@dataclasses.dataclass(kw_only=True)
class ContinuousCheckpointingPolicy(SaveDecisionPolicy):
    """Save whenever no save is in progress.

    Attributes:
      minimum_interval_secs: least number of seconds after the last checkpoint; None for no bound.
    """

    minimum_interval_secs: int | None = None

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if no save is in progress and enough time has passed."""
        if context.is_saving_in_progress:
            return False
        if not previous_steps or self.minimum_interval_secs is None:
            return True
        passed = (step.time - previous_steps[-1].time).total_seconds()
        return passed >= self.minimum_interval_secs


class PreemptionCheckpointingPolicy(SaveDecisionPolicy):
    """Save when the process was told that it will be stopped."""

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if a preemption was announced."""
        del step, previous_steps
        return context.reached_preemption


@dataclasses.dataclass
class AnySavePolicy(SaveDecisionPolicy):
    """Save when one of several policies says so.

    Attributes:
      policies: the policies, asked in order until one returns True.
    """

    policies: Sequence[SaveDecisionPolicy]

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if one of the policies does."""
        return any(
            p.should_save(step, previous_steps=previous_steps, context=context)
            for p in self.policies
        )


@dataclasses.dataclass
class AllSavePolicy(SaveDecisionPolicy):
    """Save when all of several policies say so. Orbax has no such policy.

    Attributes:
      policies: the policies; at least one.
    """

    policies: Sequence[SaveDecisionPolicy]

    def should_save(
        self,
        step: CheckpointMetadata[Any],
        previous_steps: Sequence[CheckpointMetadata[Any]],
        *,
        context: DecisionContext,
    ) -> bool:
        """Return True if all of the policies do."""
        if not self.policies:
            raise ValueError("AllSavePolicy: want at least one policy, got none")
        return all(
            p.should_save(step, previous_steps=previous_steps, context=context)
            for p in self.policies
        )


def default_policy() -> SaveDecisionPolicy:
    """Return Orbax's default: the first step, then any step while no save is in progress."""
    return AnySavePolicy(
        [InitialSavePolicy(), ContinuousCheckpointingPolicy(), PreemptionCheckpointingPolicy()]
    )


def spec(policy: SaveDecisionPolicy) -> dict[str, Any] | None:
    """Return the policy as data (``PolicySpec`` of the server), or None if it has no such form."""
    kind = type(policy)
    name, args = kind.__name__, dict[str, Any]()
    if isinstance(policy, FixedIntervalPolicy) and kind is FixedIntervalPolicy:
        args = {"interval": int(policy.interval)}
    elif isinstance(policy, SpecificStepsPolicy) and kind is SpecificStepsPolicy:
        if not isinstance(policy.steps, Iterable) or isinstance(policy.steps, range):
            return None
        args = {"steps": sorted(int(s) for s in policy.steps)}
    elif (
        isinstance(policy, ContinuousCheckpointingPolicy) and kind is ContinuousCheckpointingPolicy
    ):
        args = {"minimum_interval_secs": policy.minimum_interval_secs}
    elif isinstance(policy, (AnySavePolicy, AllSavePolicy)) and kind in (
        AnySavePolicy,
        AllSavePolicy,
    ):
        parts = [spec(p) for p in policy.policies]
        if None in parts:
            return None
        args = {"policies": parts}
    elif kind not in (InitialSavePolicy, PreemptionCheckpointingPolicy):
        return None
    return {"policy": name, "args": {k: v for k, v in args.items() if v is not None}}
