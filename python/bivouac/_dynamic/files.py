"""Files that are written as a whole."""

from __future__ import annotations

import os
import secrets

__all__ = ["write"]


def write(path: str, data: str) -> bool:
    """Write a new file durably. Return False if there is one of this name.

    The text is written under another name, which then becomes the name. So a reader sees the whole
    file or none, also if the power fails.
    """
    directory = os.path.dirname(path) or "."
    hidden = os.path.join(directory, f".{os.path.basename(path)}.{secrets.token_hex(8)}")
    try:
        with open(hidden, "x", encoding="utf-8") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(hidden, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(path):
                return False
            os.rename(hidden, path)
    finally:
        try:
            os.unlink(hidden)
        except FileNotFoundError:
            pass
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    return True
