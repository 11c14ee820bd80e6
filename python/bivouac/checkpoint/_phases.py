"""Runs the coroutines of handlers.

The save of leaf handlers has two phases: the first runs in the caller's thread, the second in one
of its own. Both run in one event loop, so that what the first one begins goes on in the second one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  its hook at exit must come after the one below
import contextlib
import contextvars
import inspect
import os
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from bivouac import errors

if TYPE_CHECKING:
    from bivouac._call import Call
    from bivouac._client import Connection

__all__ = ["Directory", "Writing", "awaited", "close", "register", "run"]

T = TypeVar("T")

First = Callable[["Directory"], Coroutine[Any, Any, list[Awaitable[Any]]]]


class Directory:
    """The directory that a handler's save gets; see `PathAwaitingCreation`."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __truediv__(self, other: pathlib.Path | str) -> Directory:
        return Directory(self._path / other)

    def __repr__(self) -> str:
        return f"Directory({str(self._path)!r})"

    @property
    def path(self) -> pathlib.Path:
        """The path."""
        return self._path

    async def await_creation(self) -> pathlib.Path:
        """Make the directory if it does not exist, and return its path."""
        self._path.mkdir(parents=True, exist_ok=True)
        return self._path


def _apart(work: Callable[[], T]) -> T:
    """Call a function that runs an event loop, and return its value.

    If this thread runs a loop already, as in a notebook, the function runs in another thread, with
    the context variables of this one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    values: list[T] = []
    failures: list[BaseException] = []
    context = contextvars.copy_context()

    def other() -> None:
        try:
            values.append(context.run(work))
        except BaseException as err:
            failures.append(err)

    thread = threading.Thread(target=other, name="bivouac-handler")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return values[0]


def run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, in a loop of its own, and return its value."""
    return _apart(lambda: asyncio.run(make()))


async def awaited(value: Any) -> Any:
    """Return a value, or what it becomes if it is awaitable."""
    return await value if inspect.isawaitable(value) else value


def close(left: Iterable[Any]) -> None:
    """Close coroutines that will not be awaited."""
    for coroutine in left:
        if inspect.iscoroutine(coroutine):
            coroutine.close()


class Writing:
    """A Writing is the save of the leaf handlers of a tree.

    `begin` runs the first phase. `go` starts the second one. The save of the server waits for it,
    with the question "leaves". `over` ends it with the call of the save.

    Attributes:
      directory: the private directory of the files.
    """

    def __init__(self, subject: str) -> None:
        """Make a Writing.

        Args:
          subject: the handlers and their leaves, for errors.
        """
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bivouac-leaves-"))
        self._subject = subject
        self._loop = asyncio.new_event_loop()
        self._second: list[Awaitable[Any]] = []
        self._context = contextvars.copy_context()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[Any] | None = None
        self._ended = threading.Event()
        self._over = False
        self._given = False  # the server has been told to take the files
        self._error: BaseException | None = None
        self._told: BaseException | None = None
        _open[str(self.directory)] = self

    def begin(self, first: First) -> None:
        """Run the first phase. What it raises is raised here, and ends the Writing."""
        try:
            self._second = _apart(
                lambda: self._loop.run_until_complete(first(Directory(self.directory)))
            )
        except BaseException as err:
            self._noted(err)
            self.over()
            raise

    def go(self) -> None:
        """Start the second phase, unless the save is over."""
        with self._guard:
            if self._over or self._thread is not None:
                return
            self._thread = threading.Thread(
                target=self._context.copy().run,
                args=(self._work,),
                name="bivouac-leaves",
                daemon=True,
            )
            _running[self] = None
            self._thread.start()

    def _work(self) -> None:
        """Run the second phase, and tell that it has ended."""
        try:
            self._loop.run_until_complete(self._all())
        except BaseException as err:
            if not self._over:
                self._noted(err)
            self._error = err
        finally:
            _close(self._loop)
            with self._guard:
                self._ended.set()
                if self._over:
                    self._remove()
            _running.pop(self, None)

    async def _all(self) -> None:
        """Run what the handlers have left to do."""
        with self._guard:
            self._task = asyncio.current_task()
            over = self._over
        if over:
            close(self._second)
        else:
            await asyncio.gather(*self._second)

    def _noted(self, error: BaseException) -> None:
        """Say in an exception whose it is."""
        if hasattr(error, "add_note"):
            error.add_note(f"bivouac: in {self._subject}; nothing is saved")

    def wait(self) -> None:
        """Wait for the second phase and raise what it raised."""
        self._ended.wait()
        if self._error is not None:
            raise self._error

    def follow(self) -> None:
        """Run the second phase for a save that another process publishes.

        Raises:
          Unsupported: the handlers have written files, which that process does not have.
        """
        self.go()
        self.wait()
        names = self.files()
        if names:
            raise errors.Unsupported(
                op="save",
                subject=self._subject,
                want="files of the primary process only",
                got=f"file {names[0]!r} on another process",
                remedy="have the handler write where multihost.is_primary_host is true",
            )

    def answer(self) -> None:
        """Tell the server that the second phase has ended, or raise what it raised."""
        try:
            self.wait()
        except BaseException as err:
            with self._guard:
                if not self._over:
                    self._told = err
            raise errors.BivouacError(f"{type(err).__name__}: {err}") from err
        with self._guard:
            if self._over:
                raise errors.Closed(op="save", got="the save has ended")
            self._given = True

    def error(self) -> BaseException | None:
        """Return the exception of a handler for which the server failed the save, or None."""
        return self._told

    def over(self, _: Call | None = None) -> None:
        """End the second phase if it runs. Remove the directory if the server does not take it."""
        with self._guard:
            self._over = True
            _open.pop(str(self.directory), None)
            if self._thread is None and not self._ended.is_set():
                self._ended.set()
                close(self._second)
                _close(self._loop)
            if self._ended.is_set():
                self._remove()
            elif self._task is not None:
                with contextlib.suppress(RuntimeError):  # the loop has just been closed
                    self._loop.call_soon_threadsafe(self._task.cancel)

    def _remove(self) -> None:
        if not self._given:
            shutil.rmtree(self.directory, ignore_errors=True)

    def files(self) -> list[str]:
        """Return the names of the files in the directory."""
        found = (path for path in self.directory.rglob("*") if not path.is_dir())
        return sorted(str(path.relative_to(self.directory)) for path in found)


def first_error(writings: Iterable[Writing]) -> BaseException | None:
    """Return the first exception for which the server failed a save, or None."""
    return next((e for w in writings if (e := w.error()) is not None), None)


_open: dict[str, Writing] = {}
"""The saves that the server may ask for, by directory."""

_running: dict[Writing, None] = {}
"""The saves whose second phase runs."""


def register(link: Connection) -> None:
    """Answer the question of a connection whether the files of leaf handlers are there."""
    link.on_ask("leaves", _answer, apart=True)


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    """Wait for the second phase of the handlers of a directory."""
    writing = _open.get(str(question.get("directory")))
    if writing is None:
        raise errors.Closed(op="save", got="the leaf handlers of the save are not there any more")
    writing.answer()
    return {}


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left in a loop, and close it."""
    if loop.is_running():  # in a thread whose waiter was interrupted
        return
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def _before_exit() -> None:
    """Wait for the handlers that run, while they can still use threads."""
    for writing in list(_running):
        writing._ended.wait()


def _after_fork() -> None:
    """Forget the parent's saves in a forked child."""
    _open.clear()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

# The standard library has no public hook at this point: atexit runs when no pool takes work any
# more, so that a handler that uses asyncio.to_thread would fail.
_register = getattr(threading, "_register_atexit", None)
if _register is not None:
    _register(_before_exit)
