"""Responses of operations that run in a thread of this process."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bivouac._client import Call
from bivouac.checkpoint._response import AsyncResponse, CallResponse
from bivouac.checkpoint.errors import translated
from bivouac.errors import BivouacError

T = TypeVar("T")


class ThreadResponse(AsyncResponse[T]):
    """A ThreadResponse is the AsyncResponse of a function that runs in a thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        """Start the function, with the context variables of this thread."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], None]] = []
        context = contextvars.copy_context()

        def run() -> None:
            try:
                self._values.append(context.run(function))
            except BaseException as err:
                self._error = err
            with self._lock:
                self._ended.set()
                callbacks = self._callbacks
            if self._error is None:
                for callback in callbacks:
                    callback(self._values[0])

        threading.Thread(target=run, name="bivouac-background", daemon=True).start()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the function and return its value, or raise its error."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the operation did not end within {timeout} s; it goes on")
        if self._error is not None:
            raise self._error
        return self._values[0]

    def done(self) -> bool:
        """Report whether the function has ended."""
        return self._ended.is_set()

    def on_complete(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(value)` after the function has succeeded."""
        with self._lock:
            if not self._ended.is_set():
                self._callbacks.append(callback)
                return
        if self._error is None:
            callback(self._values[0])


class TranslatedResponse(CallResponse[T]):
    """A CallResponse whose errors are of the classes that Orbax's names belong to."""

    def __init__(
        self,
        call: Call,
        convert: Callable[[Call], T],
        kinds: Mapping[type[BivouacError], type[BivouacError]],
    ) -> None:
        """Make a response; see `errors.translated`."""
        super().__init__(call, convert)
        self._kinds = dict(kinds)

    def result(self, timeout: float | None = None) -> T:
        """Wait for the operation and return its value, or raise its error."""
        with translated(self._kinds):
            return super().result(timeout)
