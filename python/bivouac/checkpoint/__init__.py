"""Checkpoints that Orbax reads and writes too. The names are those of `orbax.checkpoint.v1`.

Modules are imported at their first use, so that `import bivouac` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bivouac.checkpoint._surface import *  # noqa: F403

_modules = frozenset(
    (
        "arrays",
        "errors",
        "handlers",
        "multihost",
        "options",
        "partial",
        "path",
        "serialization",
        "training",
        "tree",
    )
)


def __getattr__(name: str) -> Any:
    """Import a module of the package, or take a name of its surface, at its first use."""
    if name in _modules:
        return importlib.import_module(f"bivouac.checkpoint.{name}")
    if not name.startswith("_"):
        surface = importlib.import_module("bivouac.checkpoint._surface")
        if hasattr(surface, name):
            value = getattr(surface, name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'bivouac.checkpoint' has no attribute {name!r}")


def __dir__() -> list[str]:
    surface = importlib.import_module("bivouac.checkpoint._surface")
    return sorted({*globals(), *_modules, *surface.__all__})
