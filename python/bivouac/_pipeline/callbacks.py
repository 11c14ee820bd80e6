"""The functions of a program that a pipeline calls while it makes batches.

The side-car asks for one call at a time. The calls of a pipeline run in a thread of their own, one
after the other. So the thread that waits for a batch can be interrupted, whatever a function does.

    side-car ─ question, inputs in shared memory ─▶ thread of the pipeline ─▶ function
             ◀─ pipeline.give: outputs ─ answer ──
"""

from __future__ import annotations

import dataclasses
import os
import queue
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bivouac import _dtypes, _wire, errors
from bivouac._arena import Layout, map_memory
from bivouac._pipeline.tensors import TensorListCPU

if TYPE_CHECKING:
    from bivouac._client import Connection

__all__ = ["Batch", "Callback", "CallbackError", "Calls", "time_limit"]

Batch = list[list["np.ndarray[Any, Any]"]]
"""Arrays by number of the input or output, and by sample."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_TEXT = 300  # of an exception that the side-car hears of
_VARIABLE = "BIVOUAC_CALLBACK_TIMEOUT"


class CallbackError(errors.BivouacError, RuntimeError):
    """A function of the program that a pipeline has called raised an exception: its cause."""


class LayoutError(errors.BivouacError, ValueError):
    """A function returned an array that its layout does not fit."""

    kind = "mismatch"


@dataclasses.dataclass
class Callback:
    """A Callback is a function that a pipeline calls.

    Attributes:
      name: what errors call it.
      operator: the name of its operator, such as "bivouac.fn.python_function".
      call: makes the outputs of a batch from its number of samples and its inputs.
      where: the lines of the program that have defined the operator, or "".
    """

    name: str
    operator: str
    call: Callable[[int, Batch], Batch]
    where: str = ""

    def error(self, cause: BaseException) -> BaseException:
        """Return the error of a batch for which the function has raised an exception."""
        if isinstance(cause, LayoutError):
            return cause
        said = str(cause) or "<EMPTY MESSAGE>"
        lines = [
            f"Error in CPU operator `{self.operator}`,\n"
            "which was used in the pipeline definition with the following traceback:\n\n"
            f"{self.where}\nencountered:\n\n{type(cause).__name__}: {said}\n",
            f"\nAt: {self.name}\n",
        ]
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            if not frame.filename.startswith(_PACKAGE):
                lines.append(f"  {frame.filename}({frame.lineno}): {frame.name}\n")
        got = f"{type(cause).__name__}: {said}"
        made = CallbackError("".join(lines), op=self.operator, subject=self.name, got=got)
        made.__cause__ = cause
        return made


def name_of(function: Any) -> str:
    """Return what errors call a function: its name, and where it is defined."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None) or getattr(
        getattr(type(function), "__call__", None), "__code__", None
    )
    if code is None:
        return str(name)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def defined_at() -> str:
    """Return the line of the program that defines an operator now, as a traceback shows it."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return "".join(traceback.format_list(traceback.extract_stack(frame, 1)))


def frames_within() -> int:
    """Return how many frames of this package are above the line of the program that called it."""
    frame, number = sys._getframe(1).f_back, 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, number = frame.f_back, number + 1
    return number


def time_limit(given: float | None) -> float | None:
    """Return how many seconds a call may take, or None: as given, or as the environment says."""
    what = "callback_timeout"
    text: Any = given
    if given is None:
        what, text = _VARIABLE, os.environ.get(_VARIABLE) or None
        if text is None:
            return None
    try:
        seconds = float(str(text))
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 < seconds <= 1 << 30:
        raise errors.Invalid(subject=what, want="a positive number of seconds", got=repr(text))
    return seconds


class Calls:
    """Calls makes the calls of a pipeline, as the side-car asks for them.

    Nothing of the thread refers to it between calls. So it goes with its pipeline.
    """

    def __init__(
        self, link: Connection, callbacks: Sequence[Callback], limit: float | None
    ) -> None:
        self.callbacks = callbacks
        self.limit = limit
        self._link = link
        self._pid = os.getpid()
        self._number = 0
        self._last = 0  # number of the newest call that was begun
        self._map: Any = None
        self._raised: tuple[str, BaseException] | None = None
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def begin(self, pipeline: int) -> None:
        """Begin to take questions about a pipeline."""
        self._number = pipeline
        thread = threading.Thread(
            target=_serve,
            args=(self._queue, weakref.ref(self)),
            name=f"bivouac-functions-{pipeline}",
            daemon=True,
        )
        thread.start()
        self._link.listen(pipeline, self._queue.put)

    def close(self) -> None:
        """Take no further questions. It only appends, so that it never blocks in a collection."""
        self._link.unlisten(self._number)
        self._queue.put(None)

    def error(self, failure: BaseException) -> BaseException:
        """Return the error of a batch that failed: that of the function that has raised one."""
        raised = self._raised
        if raised is not None and raised[0] in str(failure):
            return raised[1]
        return failure

    def answer(self, question: dict[str, Any], fds: list[int], posted: float) -> None:
        """Make a call and answer the side-car."""
        if question["call"] <= self._last:
            return  # an interrupt of the thread that reads has brought it twice
        self._last = question["call"]
        answer: dict[str, Any] = {"ask": question["ask"]}
        callback = self.callbacks[question["function"]]
        try:
            if fds:
                self._map = map_memory(fds, question["bytes"])
            if self.limit is not None and time.monotonic() - posted > self.limit:
                return  # nobody waits for it any more
            views = np.frombuffer(self._map, np.uint8)
            inputs = [TensorListCPU._of(views, one).views() for one in question["inputs"]]
            outputs = callback.call(question["samples"], [list(arrays) for arrays in inputs])
            if self._pid != os.getpid():
                return
            self._give(question["call"], outputs)
            answer["value"] = {}
        except BaseException as err:  # also SystemExit: a function ends neither thread nor program
            if self._pid != os.getpid():
                return
            said = f"call {question['call']} of pipeline {self._number}: {type(err).__name__}"
            self._raised = said, callback.error(err)
            text = str(err).partition("\n")[0][:_MOST_TEXT]
            answer["error"] = f"{said}: {text}" if text else said
        if self._link._failure is None:
            self._link._writer.send(_wire.encode(_wire.ANSWER, answer))

    def _give(self, call: int, outputs: Batch) -> None:
        """Copy the outputs of a call to the side-car."""
        from bivouac.checkpoint import _engine

        laid = Layout()
        data = []
        for arrays in outputs:
            places = [laid.place(array) for array in arrays]
            data.append({"dtype": _dtypes.name_of(arrays[0].dtype), "samples": places})
        arenas = _engine.arenas(self._link)
        lease = arenas.filled(laid.size, laid.copies, []) if laid.size else None
        try:
            give = self._link.start(
                "pipeline.give",
                hook=None if lease is None else lease.hook,
                pipeline=self._number,
                call=call,
                arena=None if lease is None else lease.number,
                data=data,
            )
        except BaseException:
            if lease is not None and self._link.call_with(lease.hook) is None:
                lease.release()
            raise
        give.result()


def _serve(questions: queue.SimpleQueue[Any], of: weakref.ref[Calls]) -> None:
    """Answer the questions about a pipeline. It is the thread of the pipeline."""
    pid = os.getpid()
    while True:
        item = questions.get()
        while item is not None and not questions.empty():
            # The side-car asks anew only if it does not wait any more.
            fds = item[1]
            following = questions.get()
            while fds and (following is None or following[0] != item[0]):
                os.close(fds.pop())
            item = following
        calls = of()
        if item is None or calls is None:
            return
        calls.answer(*item)
        del calls, item
        if pid != os.getpid():
            # In a child that the function has forked this is the only thread. Python does not let
            # it end like the thread of a parent.
            os._exit(0)
