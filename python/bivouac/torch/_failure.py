"""Failures: exceptions of another process or thread, which the trainer raises again."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["Failure"]

_MARK = "_bivouac_reraised"


class Failure:
    """A Failure is an exception of a worker. The trainer raises it again.

    Args:
      err: the exception.
      where: where it was caught, as the text says it: "in DataLoader worker process 0".
      travels: the Failure goes to another process, where its type must be found again. A Failure
        that stays keeps the exception itself, as the cause of the one that is raised.
    """

    def __init__(self, err: BaseException, where: str, travels: bool = True) -> None:
        self.kind: type[BaseException] = type(err)
        self.name = self.kind.__name__
        # The text of an exception that was raised again has the text of its cause.
        chain = not getattr(err, _MARK, False)
        shown = traceback.format_exception(type(err), err, err.__traceback__, chain=chain)
        self.text = "".join(shown)
        self.where = where
        self.cause: BaseException | None = None if travels else err
        if not travels:
            return
        try:
            if pickle.loads(pickle.dumps(self.kind)) is not self.kind:
                raise TypeError
        except Exception:
            self.kind = RuntimeError

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, whose text is the traceback of the worker."""
        made = self._made(f"Caught {self.name} {self.where}.\nOriginal {self.text}")
        try:
            setattr(made, _MARK, True)
        except Exception:
            pass  # the exception takes no attributes
        try:
            if self.cause is None:
                raise made
            raise made from self.cause
        finally:
            del made  # else the traceback would hold the exception, and the exception the traceback

    def _made(self, text: str) -> BaseException:
        """Return the exception that is raised."""
        kind: Any = self.kind
        if issubclass(kind, KeyError):
            text = _Text(text)
        ways: list[Callable[[], BaseException]] = [lambda: kind(text)]
        if getattr(kind, "message", None):  # its text may be an argument with a name
            ways.insert(0, lambda: kind(message=text))
        for way in ways:
            try:
                return way()
            except Exception:
                continue
        return RuntimeError(text)


class _Text(str):
    """A text whose repr is itself, because KeyError shows the repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
