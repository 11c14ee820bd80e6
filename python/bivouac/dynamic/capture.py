"""What programs for captured loops use. Bivouac sends calls in groups in any case."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["invariant"]

_T = TypeVar("_T")


def invariant(value: _T) -> _T:
    """Return the value. DALI needs the mark to capture a value that does not change."""
    return value
