"""The journal of a job: the scalars of each step, what happened, and how it ended."""

from __future__ import annotations

import array
import base64
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any, cast

from bivouac import errors
from bivouac._client import Call
from bivouac._job import scalars
from bivouac.checkpoint.training import Checkpointer

__all__ = ["Journal", "Run", "describe"]

_EVERY = 1.0  # seconds between two messages while steps are done
_MOST = 65536  # rows that wait while the side-car cannot be reached

_OWN = ("seconds", "data_seconds", "blocked_seconds", "samples_per_second")
_SECONDS, _DATA, _BLOCKED, _SPEED = range(len(_OWN))

Row = tuple[int, float, dict[int, Any], bool]
"""A step, its time, its scalars by their numbers, and whether a device has some of them."""


class Run(Checkpointer):
    """A Run is a Checkpointer whose events are written to a journal too."""

    _journal = True


def describe() -> dict[str, Any]:
    """Return what the start row of an attempt says about the program."""
    from bivouac import __version__

    return {
        "bivouac": __version__,
        "program": os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "",
        "runtime": f"python{platform.python_version()} {sys.platform}/{platform.machine()}",
    }


class Journal:
    """A Journal keeps the rows of steps until the side-car has them.

    Rows travel before a save, and once a second. Values that a device computes are read a second
    after they were recorded, or before the next save. The side-car writes the rows.

    Attributes:
      on: False in processes that record nothing.
    """

    def __init__(
        self,
        run: Checkpointer | None,
        start: dict[str, Any],
        tensorboard: str | None,
        batch_size: int | None,
        tell: Callable[[str], None],
    ) -> None:
        """Begin an attempt.

        Args:
          run: where the steps are; None records nothing.
          start: members of the start row.
          tensorboard: an absolute directory for an event file, or None.
          batch_size: samples of a step, for the samples a second.
          tell: is called with what could not be recorded, once for each kind of failure.

        Raises:
          Unsupported: tensorboard is in a bucket.
        """
        self._run = run
        self._start = start
        self._tensorboard = tensorboard
        self._batch_size = batch_size
        self._tell = tell
        self._told: set[str] = set()
        self._names: dict[str, int] = {f"job/{name}": i for i, name in enumerate(_OWN)}
        self._values: dict[int, Any] = {}  # of the step under way
        self._rows: list[Row | list[str]] = []  # steps and events that the side-car does not have
        self._old = 0  # how many of them were there a second ago
        self._late = False  # a device has a value of the step under way
        self._young = False  # a device has a value of a row after the old ones
        self._sent: Call | None = None
        self._sending = False
        self._place: tuple[Any, int] | None = None  # where the attempt was begun
        self._done = start.get("from", 0)  # the last step that the side-car has
        self._ended = False
        self._began = self._mark = self._next = time.perf_counter()
        self._data = self._blocked = 0.0
        self.on = False
        if run is not None:
            self.on = self._open(*run._server.link())

    def _open(self, link: Any, number: int) -> bool:
        """Begin an attempt in the side-car, which may be another one than before."""
        start = {**self._start, "from": self._done}
        self._began = time.perf_counter()
        value = link.call(
            "training.journal", checkpointer=number, start=start, tensorboard=self._tensorboard
        )
        self._place = (link, number)
        return bool(value["recording"])

    # Recording.

    def scalar(self, name: str, value: Any) -> None:
        """Record a number of the step under way.

        Raises:
          Invalid: the name or the value cannot be recorded.
          Exhausted: there are too many names.
        """
        try:
            index = self._names[name]
            if index < len(_OWN):
                scalars.check_name(name, 0)
        except (KeyError, TypeError):
            scalars.check_name(name, len(self._names) - len(_OWN))
            index = self._names[name] = len(self._names)
        if type(value) is not float:
            value = scalars.number(name, value)
            self._late = self._late or type(value) is not float
        if self.on:
            self._values[index] = value

    def event(self, name: str, thing: str = "", error: str = "") -> None:
        """Record something that happened."""
        if self.on and not self._ended:
            self._rows.append([_text(name), _text(thing), "", _text(error)])

    def begin(self) -> None:
        """Make the attempt visible, when the loop begins."""
        self._mark = time.perf_counter()
        if self.on:
            self._send(len(self._rows), begin=True, wait=False)

    def waited(self, since: float) -> None:
        """Note that the job has waited for a batch."""
        self._data = time.perf_counter() - since

    def blocked(self, since: float) -> None:
        """Note that a save has stopped the trainer."""
        self._blocked += time.perf_counter() - since

    def step(self, step: int) -> None:
        """Record that a step is done."""
        if not self.on:
            return
        now = time.perf_counter()
        took = now - self._mark
        self._mark = now
        values, self._values = self._values, {}
        values[_SECONDS], values[_DATA] = took, self._data
        if self._blocked:
            values[_BLOCKED], self._blocked = self._blocked, 0.0
        if self._batch_size is not None and took > 0:
            values[_SPEED] = self._batch_size / took
        self._rows.append((step, now, values, self._late))
        if self._late:
            self._late, self._young = False, True
        if now >= self._next:
            self._tick(now)

    # Sending.

    def _tick(self, now: float) -> None:
        """Send the rows of which no value is younger than a second."""
        self._next = now + _EVERY
        link = self._place[0] if self._place is not None else None
        if link is None or not link.alive():
            self._shorten()
            return  # the next save starts a side-car again, or fails
        if self._sent is not None and not self._sent.done():
            return
        count = self._old if self._young else len(self._rows)
        if count:
            self._send(count, wait=False)
        self._old, self._young = len(self._rows), False

    def _shorten(self) -> None:
        """Drop the oldest rows if there are too many."""
        if len(self._rows) > _MOST:
            gone = len(self._rows) - _MOST
            del self._rows[:gone]
            self._fail("rows", f"{gone} rows are lost: the side-car cannot be reached")

    def flush(self) -> None:
        """Give all rows to the side-car, which writes them before it commits the next step."""
        if self.on and self._rows:
            self._send(len(self._rows), wait=True)

    def end(self, outcome: str, error: str = "") -> None:
        """Record how the attempt ended. Nothing is recorded after it."""
        if not self.on or self._ended:
            return
        self._ended = True
        if self._place is not None and self._place[0].alive():
            end = {"outcome": outcome, "error": _text(error)}
            self._send(len(self._rows), wait=True, end=end)

    def _send(self, count: int, *, wait: bool, begin: bool = False, end: Any = None) -> None:
        """Send the first rows. A failure does not stop the training."""
        if self._sending or self._run is None:
            return  # reading a value, or the message, has made an event
        self._sending = True
        try:
            if self._sent is not None:
                self._sent.result()  # messages keep their order
                self._sent = None
            link, number = self._run._server.link()
            if self._place != (link, number):
                self._open(link, number)
            rows = self._rows[:count]
            body = self._encode(rows)
            if begin:
                body["begin"] = True
            call = link.start("training.record", checkpointer=number, journal=body, end=end)
            if wait:
                call.result()
            else:
                self._sent = call
            del self._rows[: len(rows)]
            self._old = max(0, self._old - len(rows))
            self._done = max([self._done, *(row[0] for row in rows if type(row) is tuple)])
        except errors.BivouacError as err:
            self._sent = None
            self._shorten()
            self._fail(type(err).__name__, str(err))
        finally:
            self._sending = False

    def _encode(self, rows: list[Row | list[str]]) -> dict[str, Any]:
        """Return rows as they travel: blocks of steps that have the same scalars, and events."""
        self._read(rows)
        out: list[Any] = []
        block: dict[str, Any] | None = None
        data = array.array("d")

        def end() -> None:
            if block is not None:
                if sys.byteorder == "big":
                    data.byteswap()
                block["data"] = base64.b64encode(data.tobytes()).decode()
                del data[:]

        last = 0
        columns: tuple[int, ...] = ()
        for row in rows:
            if type(row) is list:
                end()
                block = None
                out.append(row)
                continue
            step, at, values, _ = cast(Row, row)
            keys = tuple(values)
            if block is None or keys != columns or step != last + 1:
                end()
                block = {"step": step, "columns": keys}
                columns = keys
                out.append(block)
            last = step
            data.append(max(at - self._began, 0.0))
            data.extend(values.values())
        end()
        return {"names": list(self._names), "rows": out}

    def _read(self, rows: list[Row | list[str]]) -> None:
        """Read the values that devices have."""
        places = [
            (row[2], index, value)
            for row in rows
            if type(row) is tuple and row[3]
            for index, value in row[2].items()
            if type(value) is not float
        ]
        if not places:
            return
        names = list(self._names)
        for (values, index, _), found in zip(places, scalars.read(p[2] for p in places)):
            if isinstance(found, float):
                values[index] = found
                continue
            del values[index]
            self._fail("value", f"scalar {names[index]!r} cannot be read: {found}")

    def _fail(self, kind: str, text: str) -> None:
        """Tell what could not be recorded, once for each kind."""
        if kind not in self._told:
            self._told.add(kind)
            self._tell(text)


def _text(text: str) -> str:
    """Return a text without what is not Unicode."""
    return text.encode("utf-8", "replace").decode()
