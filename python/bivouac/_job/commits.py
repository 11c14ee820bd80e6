"""The saves of a job: what a step has, when it is saved, and what a job continues from."""

from __future__ import annotations

import functools
import json
from typing import Any, Generic, TypeVar

from bivouac import errors
from bivouac._client import Call
from bivouac._job import generators, ranks, resume
from bivouac._job import state as states
from bivouac._job.loader import Source
from bivouac._job.notice import Notice
from bivouac._job.recorded import Recorded
from bivouac.checkpoint import _items
from bivouac.checkpoint._engine import Wire
from bivouac.checkpoint.training.save_decision_policies import SaveDecisionPolicy

__all__ = ["Commits"]

B = TypeVar("B")
S = TypeVar("S")


class Commits(Recorded, Generic[B, S]):
    """A Commits is the part of a job that saves steps and continues from them."""

    state: S
    metrics: dict[str, Any]
    _source: Source[B]
    _notice: Notice
    _policy: SaveDecisionPolicy | None
    _running: bool

    def __init__(self) -> None:
        self._step = 0
        self._epoch = 0
        self._in_epoch = 0  # batches of the epoch that are done
        self._saved: int | None = None  # the last step that was handed to the checkpointer
        self._resumed: int | None = None
        self._pending: Call | None = None
        self._random: Any = None  # the state of the generators at which the loop begins
        self._seed: str | None = None  # of generators that are seeded anew
        self._again: states.Again = []  # sets the generators of the state once more
        self._begun = False  # whether the restored step was saved after an iterator was made
        self._fresh = False  # no batch was asked for since the resumption
        self._failed = False  # the loader has failed, so its position is not known
        self._asked = False  # to save at the end of this step

    # Resuming.

    def _apply(self, found: resume.Found) -> None:
        """Move the loader, and then fill the state."""
        mine = ranks.choose(found.rows, found.processes, self._team, self._source)
        self._source.check(mine.get("loader", {}))
        self._source.load(mine["stream"])
        forms = found.python.get("forms", {})
        self._seed = mine.get("seed")
        self.state = states.fill(self.state, found.tree, forms, self._again)
        self._set_generators(mine.get("generators", []))
        self._step = self._saved = self._resumed = found.step
        self._epoch = int(mine.get("epoch", 0))
        self._in_epoch = int(mine.get("batches", 0))
        self._begun = bool(mine.get("begun", self._in_epoch > 0))
        self._random = mine.get("random")
        self._fresh = True

    def _set_generators(self, saved: list[Any]) -> None:
        """Set the generators in the state to what this process had saved of them.

        The state has the generators of the primary.
        """
        own = {tuple(keys): value for keys, value in saved}
        for keys, generator in states.generators_of(self.state):
            if self._seed is not None:
                seed = f"{self._seed} {'/'.join(keys)}"
                put = functools.partial(generators.seed_one_anew, generator, seed)
            elif keys in own:
                put = functools.partial(states.set_state, generator, own[keys])
            else:
                continue
            self._again.append(put)
            put()

    def _restore_random(self) -> None:
        """Set the random generators to where they were when the step was saved, once."""
        saved, self._random = self._random, None
        seed, self._seed = self._seed, None
        again, self._again = self._again, []
        if seed is not None:
            generators.seed_anew(seed)
        elif saved is not None:
            generators.restore(saved)
        for put in again:
            put()

    # Saving.

    def _check_position(self) -> None:
        if self._failed:
            raise errors.Sequence(
                op="bivouac.Job",
                subject=f"step {self._step}",
                got="the loader has failed or was interrupted, so its position is not known",
                remedy="make a new Job: it continues after the last step that was committed",
            )

    def _due(self) -> bool:
        """Report whether the step that was just done is to be saved."""
        asked, self._asked = self._asked, False
        if asked:
            return True
        if self._policy is not None:
            if self._team is None:
                return bool(self._run.should_save(self._step))
            step = self._step
            what = f"whether step {step} is saved"
            return bool(self._team.tell(what, lambda: self._run.should_save(step)))
        return self._save_every is not None and self._step % self._save_every == 0

    def _items(self) -> dict[str, Any]:
        """Return the items of the step. Processes that follow give their parts only."""
        if self._random is not None:  # the loop has not begun since the resumption
            self._restore_random_early()
        document: dict[str, Any] = {"version": resume.VERSION, "step": self._step}
        if self._identity:
            document["identity"] = self._identity
        document["stream"] = self._source.state()
        tree, forms = states.capture(self.state)
        mine = {
            "epoch": self._epoch,
            "batches": self._in_epoch,
            "begun": self._source.begun if self._random is None else self._begun,
            "loader": self._source.definition(),
            "random": generators.capture() if self._random is None else self._random,
        }
        python = {"version": resume.VERSION, **mine, "forms": forms}
        items: dict[str, Any] = {resume.STATE: tree}
        team = self._team
        if team is not None:
            python["processes"] = team.count
            row = {**mine, "stream": document["stream"], "generators": self._own_generators()}
            items[ranks.RANKS] = ranks.item(team, self._step, row)
        if team is None or team.leads:
            items[resume.DATA] = Wire({"json": json.dumps(document)})
            items[resume.PYTHON] = Wire({"json": json.dumps(python)})
        return items

    def _restore_random_early(self) -> None:
        """Seed anew before a save, if the generators of this process are to be seeded anew."""
        if self._seed is not None:
            self._restore_random()

    def _own_generators(self) -> list[Any]:
        found = states.generators_of(self.state)
        return [[list(keys), states.state_of(generator)] for keys, generator in found]

    def _start(self) -> None:
        """Copy the state and begin to write it, after the save before it has ended."""
        self._check_position()
        self._wait(self._notice.left() if self._running else None)
        self._flush_journal()
        items = self._items()
        metrics = _items.check_json("metrics", self.metrics or None)
        if self._team is not None and not self._team.leads:
            metrics = None  # the primary has them
        step = self._step
        self._pending = self._run._save(
            step, lambda _: items, True, True, False, metrics, None, None
        )
        self._saved = step

    def _wait(self, seconds: float | None = None) -> None:
        """Wait for the save in flight. Its error is raised once; the next save tries again."""
        if self._pending is None:
            return
        try:
            self._pending.result(seconds)
        except (errors.BivouacError, TimeoutError):
            if not self._pending.done():
                self._pending.cancel()  # the grace time is over: nobody waits for this save
            self._pending = self._saved = None
            raise
        self._pending = None

    def _commit(self) -> None:
        """Save the current step, unless it is saved already, and wait."""
        if self._saved != self._step:
            self._start()
        self._wait(self._notice.left() if self._running else None)
