"""Runs the methods of handlers of items, in private directories."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
from typing import Any

from bivouac.checkpoint._phases import Directory, awaited, run


def save(handler: Any, value: Any) -> pathlib.Path:
    """Have a handler write a value, and return the private directory with the files."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bivouac-files-"))

    async def both() -> None:
        await awaited(await awaited(handler.save(Directory(directory), value)))

    try:
        run(both)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return directory


def load(handler: Any, directory: pathlib.Path, abstract: Any) -> Any:
    """Have a handler read a value, and remove the private directory."""

    async def both() -> Any:
        return await awaited(await awaited(handler.load(directory, abstract)))

    try:
        return run(both)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def metadata(handler: Any, directory: pathlib.Path) -> Any:
    """Have a handler describe a value, and remove the private directory."""

    async def one() -> Any:
        return await awaited(handler.metadata(directory))

    try:
        return run(one)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
