"""AsyncResponse, the handle of an operation that runs in the background."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from bivouac._client import Call

__all__ = ["AsyncResponse", "CallResponse"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AsyncResponse(abc.ABC, Generic[T_co]):
    """An AsyncResponse is a handle of an operation that runs in the background.

    The operation goes on whether or not anybody waits for it. If it fails and nobody calls
    `result`, the error is printed when the interpreter exits, and the exit status is not zero.
    """

    @abc.abstractmethod
    def result(self, timeout: float | None = None) -> T_co:
        """Wait for the operation and return its value, or raise its error.

        Args:
          timeout: the most seconds to wait; None waits without a limit. TimeoutError is raised
            when they are over. The operation goes on.
        """

    @abc.abstractmethod
    def done(self) -> bool:
        """Report whether the operation has ended. It does not wait."""

    @abc.abstractmethod
    def on_complete(self, callback: Callable[[T_co], None]) -> None:
        """Call `callback(value)` after the operation has succeeded.

        The callback runs in a thread of Bivouac, or at once in this thread if the operation has
        ended already. It is not called if the operation fails.
        """


class CallResponse(AsyncResponse[T]):
    """A CallResponse is the AsyncResponse of a call to the side-car."""

    def __init__(self, call: Call, convert: Callable[[Call], T]) -> None:
        """Make a response whose value is `convert(call)`, computed once, by the first waiter."""
        self._call = call
        self._convert = convert
        self._value: list[T] = []

    def result(self, timeout: float | None = None) -> T:
        """Wait for the operation and return its value, or raise its error."""
        self._call.result(timeout)
        if not self._value:
            self._value.append(self._convert(self._call))
        return self._value[0]

    def done(self) -> bool:
        """Report whether the operation has ended."""
        return self._call.done()

    def on_complete(self, callback: Callable[[T], None]) -> None:
        """Call `callback(value)` after the operation has succeeded."""

        def run(call: Call) -> None:
            if call.succeeded():
                callback(self.result())

        self._call.add_done_callback(run)

