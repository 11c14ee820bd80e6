"""Files that a pipeline writes."""

from __future__ import annotations

import contextlib
import os
import stat
import threading

__all__ = ["write"]


def write(filename: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as a whole: a program that is killed leaves the old file or the new one.

    A link stays a link, and a file keeps its permissions. What is not a regular file, such as a
    pipe, is written in place.
    """
    target = os.path.realpath(filename)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(target)
        if not stat.S_ISREG(found.st_mode):
            with open(target, "wb") as file:
                file.write(data)
            return
        mode = stat.S_IMODE(found.st_mode)
    whole = f"{target}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with open(whole, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(whole, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(whole)
        raise
