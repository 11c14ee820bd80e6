"""The variables with the credentials of buckets, and the working directory of the side-car.

The side-car has the environment of the moment at which it started. A program may set variables
after that: `os.environ["AWS_PROFILE"] = "training"`. So the client sends what has changed before
each call that opens a URL. A side-car that several programs share keeps its own environment.

So it is with the working directory: a relative path in a graph begins where the program is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from bivouac import _url

__all__ = ["RELATIVE", "changes", "directory", "now", "opens_url"]

RELATIVE = {"pipeline.open", "dynamic.reader", "dynamic.run"}
"""The operations that take graphs, in which paths may be relative."""

_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "GCE_")
_NAMES = (
    "STORAGE_EMULATOR_HOST",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


def now() -> dict[str, str]:
    """Return the variables that name servers and credentials. Their values are secret."""
    return {
        name: value
        for name, value in os.environ.items()
        if (name.startswith(_PREFIXES) or name in _NAMES) and _is_text(value)
    }


def directory() -> str | None:
    """Return the working directory, or None if it is gone or its name cannot travel."""
    try:
        path = os.getcwd()
    except OSError:
        return None
    return path if _is_text(path) else None


def _is_text(value: str) -> bool:
    """Report whether a value can travel. Bytes that are no UTF-8 cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in value)


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables that differ. None stands for one that was removed."""
    out: dict[str, str | None] = {n: v for n, v in after.items() if before.get(n) != v}
    out.update((name, None) for name in before if name not in after)
    return out


def opens_url(args: Mapping[str, Any]) -> bool:
    """Report whether a call with these arguments opens the URL of a bucket."""
    places: Iterable[Any] = (
        *(args.get(name) for name in ("path", "dir", "base")),
        *(args.get("paths") or ()),
        *(tier.get("directory") for tier in args.get("tiers") or ()),
    )
    if "://" in str(args.get("definition") or ""):
        return True
    return any(isinstance(place, str) and _url.is_url(place) for place in places)
