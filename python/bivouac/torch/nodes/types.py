"""Stateful: values that have states."""

from bivouac.torch._state import Stateful

__all__ = ["Stateful"]
