"""Preemption: a signal asks the job to commit its step and to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from types import FrameType
from typing import Any

__all__ = ["EXIT_PREEMPTED", "Notice", "Preempted"]

EXIT_PREEMPTED = 75
"""The exit status of a job that was preempted: EX_TEMPFAIL of sysexits.h, "try again later"."""


class Preempted(SystemExit):
    """The loop of a job has ended because of a signal. See `bivouac.Job`.

    If nobody catches it, the program ends with status 75 (`EXIT_PREEMPTED`), so that a supervisor
    starts it again. The reason why the step is not committed is in `__cause__`.

    Attributes:
      step: the steps that are done.
      committed: the newest committed step, or None.
      tiers: what the further tiers of the job lack, and why; "" if they have all that they want.
    """

    def __init__(
        self, step: int, committed: int | None, reason: str = "", tiers: str = ""
    ) -> None:
        self.step = step
        self.committed = committed
        self.tiers = tiers
        self._reason = reason
        super().__init__(EXIT_PREEMPTED)

    def __str__(self) -> str:
        return self._committed() + (f"; not in all tiers: {self.tiers}" if self.tiers else "")

    def _committed(self) -> str:
        text = f"bivouac.Job: preempted at step {self.step}"
        if self.committed == self.step:
            return f"{text}, committed"
        why = f": {self._reason}" if self._reason else ""
        if self.committed is None:
            return f"{text}, not committed, as no step before it{why}"
        return f"{text}, not committed; step {self.committed} is the last that is{why}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Preempted, (self.step, self.committed, self._reason, self.tiers)


class Notice:
    """A Notice catches signals from `start` to `stop`.

    Handlers that were there before are called too. An exception that such a handler raises is kept
    in `error`, so that it does not interrupt a step. A signal after the grace time is given to the
    handler that was there before, which ends the process by default.
    """

    def __init__(self, signals: Iterable[int], grace: float) -> None:
        self._signals = tuple(signals)
        self._grace = grace
        self._before: dict[int, Any] = {}
        self._came: float | None = None
        self.error: BaseException | None = None

    @property
    def given(self) -> bool:
        """True after a signal has come."""
        return self._came is not None

    def left(self) -> float | None:
        """Return the seconds that are left for a commit; None if no signal has come."""
        if self._came is None:
            return None
        return max(0.0, self._came + self._grace - time.monotonic())

    def learn(self) -> None:
        """Behave from now on as if a signal had come: another process of the job got one."""
        if self._came is None:
            self._came = time.monotonic()

    def start(self) -> None:
        """Catch the signals. Outside of the main thread this does nothing, as Python demands."""
        if self._before or threading.current_thread() is not threading.main_thread():
            return
        for number in self._signals:
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._handle)

    def stop(self) -> None:
        """Give the signals back to the handlers that were there before."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in list(self._before):
            self._give_back(number)

    def _give_back(self, number: int) -> None:
        before = self._before.pop(number, signal.SIG_DFL)
        if signal.getsignal(number) == self._handle:
            # None stands for a handler that was not set from Python and cannot be set again.
            signal.signal(number, signal.SIG_DFL if before is None else before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.left() == 0.0:
            self._give_back(number)
            os.kill(os.getpid(), number)
            return
        if self._came is None:
            self._came = time.monotonic()
        before = self._before.get(number)
        if callable(before):
            try:
                before(number, frame)
            except BaseException as err:
                self.error = err
