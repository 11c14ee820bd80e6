"""Pickling of sources for worker processes that are spawned, by DALI's names."""

from __future__ import annotations

from bivouac._pipeline.pickling import pickle_by_value

__all__ = ["pickle_by_value"]
