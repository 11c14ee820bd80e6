"""Dynamic mode in graphs of torchdata. `nodes` is there where torchdata is installed."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("torchdata") is not None:
    __all__ = ["nodes"]

    def __getattr__(name: str) -> object:
        if name == "nodes":
            import importlib

            return importlib.import_module("bivouac.dynamic.pytorch.nodes")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
