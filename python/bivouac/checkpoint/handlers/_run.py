"""Runs the coroutines of handlers, and their private directories."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


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


def run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end and return its value.

    If this thread runs an event loop already, as in a notebook, the coroutine runs in another
    thread with the context variables of this one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    values: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            values.append(context.run(asyncio.run, make()))
        except BaseException as err:
            errors.append(err)

    thread = threading.Thread(target=work, name="bivouac-handler")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return values[0]


async def _await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def save(handler: Any, value: Any) -> pathlib.Path:
    """Have a handler write a value, and return the private directory with the files."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bivouac-files-"))

    async def both() -> None:
        await _await(await _await(handler.save(Directory(directory), value)))

    try:
        run(both)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return directory


def load(handler: Any, directory: pathlib.Path, abstract: Any) -> Any:
    """Have a handler read a value, and remove the private directory."""

    async def both() -> Any:
        return await _await(await _await(handler.load(directory, abstract)))

    try:
        return run(both)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def metadata(handler: Any, directory: pathlib.Path) -> Any:
    """Have a handler describe a value, and remove the private directory."""

    async def one() -> Any:
        return await _await(handler.metadata(directory))

    try:
        return run(one)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
