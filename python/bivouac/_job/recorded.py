"""The part of a job that records what it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bivouac._job import arguments, journal
from bivouac._job.team import Team
from bivouac.checkpoint.training import Checkpointer

__all__ = ["Recorded"]


class Recorded:
    """A Recorded is the part of a job that records scalars, events and the end."""

    _run: Checkpointer
    _team: Team | None
    _identity: str
    _save_every: int | None
    _steps: int | None
    _step: int
    _journal: journal.Journal | None = None
    _failure: Exception | None = None  # why the loop ended
    _done = False  # the loop has done all steps

    def scalar(self, name: str, value: Any) -> None:
        """Record a number of the current step, such as "loss", "lr" or "gradient norm".

        Call it in the body of the loop. The last value of a step counts. The value may be NaN or
        infinite. It may be an array or a tensor of one element: nothing waits for a device, which
        is asked a second later, or before the next save. The value is that of the moment of the
        call.

        The journal of the run has the scalars of each step. `bivouac show` and `bivouac plot` read
        it. The rows of a step are durable when the step is committed. If several processes save
        together, only the primary records.

        Raises:
          Invalid: the name is empty, longer than 200 bytes, not Unicode, or begins with job/; or
            the value is not a real number. It is a ValueError.
          Exhausted: there are more than 990 names.
        """
        if self._journal is not None:
            self._journal.scalar(name, value)

    def scalars(self, values: Mapping[str, Any]) -> None:
        """Record several numbers of the current step; see `scalar`."""
        if self._journal is not None:
            for name, value in values.items():
                self._journal.scalar(name, value)

    def _open_journal(
        self,
        on: bool,
        tensorboard: str | os.PathLike[str] | None,
        batch_size: int | None,
        fresh: bool,
        loader: Any,
    ) -> None:
        """Begin the journal. Without one, scalars are checked and dropped."""
        board = arguments.board(tensorboard, on)
        seed = getattr(loader, "seed", None)
        start = {
            **journal.describe(),
            "from": self._step,
            "fresh": fresh,
            "identity": self._identity,
            "steps": self._steps or 0,
            "save_every": self._save_every or 0,
            "batch": batch_size or 0,
            "world": 1 if self._team is None else self._team.count,
            "seed": str(seed) if type(seed) is int else "",
        }

        def tell(text: str) -> None:
            self._emit({"event": "journal failed", "step": self._step, "text": text})

        run = self._run if on else None
        self._journal = journal.Journal(run, start, board, batch_size, tell)

    def _emit(self, event: dict[str, Any]) -> None:
        raise NotImplementedError

    def _record(self, event: dict[str, Any]) -> None:
        """Record an event of the job. The side-car records its own."""
        name = event["event"]
        if self._journal is not None and "checkpointer" not in event and name != "journal failed":
            self._journal.event(name, error=event["text"] if name == "preempted" else "")

    def _end_journal(self, preempted: bool, error: BaseException | None) -> None:
        """Record how the attempt ended."""
        if self._journal is None:
            return
        error = error or self._failure
        text = "" if error is None else f"{type(error).__name__}: {error}".rstrip(": ")
        if preempted:
            self._journal.end("preempted", text)
        elif error is not None:
            self._journal.end("failed", text)
        else:
            self._journal.end("done" if self._done else "stopped")

    def _flush_journal(self) -> None:
        """Give all rows to the side-car, which writes them before it commits the next step."""
        if self._journal is not None:
            self._journal.flush()
