"""Where checkpoints are: paths of the disk, and URLs of buckets.

    absolute(path) -> str         a path as the side-car wants it
    located(text) -> Path or URL  the object that stands for such a path

The side-car opens s3://, and in a whole build gs:// and az://. A URL file:// is a path here.
"""

from __future__ import annotations

import os
import pathlib
import re
import urllib.parse
from typing import TypeAlias

from bivouac import errors

__all__ = ["URL", "Location", "absolute", "is_url", "located", "make"]

_SCHEME = re.compile(r"([A-Za-z0-9+.\-]+)://")
_FLAT = re.compile(r"(s3|gs|az|file):/(?!/)", re.IGNORECASE)  # what pathlib makes of a URL


class URL(os.PathLike[str]):
    """A URL is the place of a run or a checkpoint in a bucket, as pathlib.Path is on a disk.

    `str(url)` is its text. Parameters such as `?endpoint=…` stay at its end.

    Attributes:
      name: the last part of the path; "" for a whole bucket.
      parent: the URL above this one.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Make the URL of a text.

        Args:
          text: such as "s3://bucket/runs/7".

        Raises:
          ValueError: the text is no URL.
        """
        if not is_url(text):
            raise errors.Invalid(op="URL", want="a URL such as s3://bucket/runs/7", got="a path")
        self._text = text

    def __fspath__(self) -> str:
        return self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"URL({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[type[URL], tuple[str]]:
        return URL, (self._text,)

    def _parts(self) -> tuple[str, list[str], str]:
        """Return scheme and host, the parts of the path, and the parameters with their mark."""
        path, mark, query = self._text.partition("?")
        scheme, _, rest = path.partition("://")
        host, *names = rest.split("/")
        return f"{scheme}://{host}", [n for n in names if n], mark + query

    @property
    def name(self) -> str:
        """The last part of the path; "" for a whole bucket."""
        _, names, _ = self._parts()
        return names[-1] if names else ""

    @property
    def parent(self) -> URL:
        """The URL above this one; of a whole bucket itself."""
        host, names, query = self._parts()
        return URL("/".join([host, *names[:-1]]) + query)

    def __truediv__(self, other: str | os.PathLike[str]) -> URL:
        """Return the URL of an entry below this one. A URL or a path from the root replaces it."""
        below = os.fspath(other)
        if is_url(below):
            return URL(below)
        host, names, query = self._parts()
        more = [n for n in below.split("/") if n]
        return URL("/".join([host, *([] if below.startswith("/") else names), *more]) + query)

    def joinpath(self, *others: str | os.PathLike[str]) -> URL:
        """Return the URL of an entry below this one, some levels down."""
        out = self
        for other in others:
            out = out / other
        return out


Location: TypeAlias = "pathlib.Path | URL"
"""A place of a run or a checkpoint: on a disk, or in a bucket."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """Report whether a path is the URL of a bucket, or begins with file://."""
    return _SCHEME.match(os.fspath(path)) is not None


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path as the protocol wants it: absolute, or the URL of a bucket as it is.

    Raises:
      ValueError: a URL file:// names another machine, or pathlib has taken a URL apart.
    """
    text = os.fspath(path)
    if not is_url(text):
        flat = _FLAT.match(text)
        if flat is not None and not isinstance(path, str):
            scheme = flat.group(1).lower()
            raise errors.Invalid(
                op="path",
                subject=f"{scheme}:/",
                want=f"a URL {scheme}://",
                got=f"a {type(path).__name__}, which drops a slash of it",
                remedy="give the URL as a string",
            )
        return os.path.abspath(text)
    scheme, _, rest = text.partition("://")
    if scheme.lower() != "file":
        return text
    host, slash, name = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise errors.Invalid(
            op="path",
            subject="file://",
            want="file:///path, with three slashes",
            got="a URL file:// with the name of a machine",
            remedy="give the path without file://",
        )
    return os.path.abspath("/" + urllib.parse.unquote(name, errors="surrogateescape"))


def located(text: str) -> Location:
    """Return the object that stands for a path or a URL."""
    return URL(text) if is_url(text) else pathlib.Path(text)


def make(directory: str | os.PathLike[str]) -> None:
    """Make a directory of a disk, unless it exists. Buckets have no directories to make."""
    path = absolute(directory)
    if not is_url(path):
        os.makedirs(path, exist_ok=True)
