"""Handlers save and load values that are not trees of arrays as items of a checkpoint.

A handler is a class with the methods of `CheckpointableHandler`. Add it to `global_registry` with
`register_handler`, or to a `local_registry` that a `Context` has:

    registry = local_registry()
    registry.add(MyHandler)
    with Context(checkpointables_options=CheckpointablesOptions(registry=registry)):
        save_checkpointables(path, {"mine": value})

The handler runs in this process. It gets a private directory, and the server moves the files into
the checkpoint when it commits. Which handler saves and loads an item is decided as in Orbax 0.12.8.
"""

from __future__ import annotations

from bivouac.checkpoint.errors import AlreadyExistsError, NoEntryError
from bivouac.checkpoint.handlers._builtin import JsonHandler, ProtoHandler, PyTreeHandler
from bivouac.checkpoint.handlers._registry import (
    CheckpointableHandlerRegistry,
    global_registry,
    local_registry,
    register_handler,
)
from bivouac.checkpoint.handlers._types import (
    AbstractCheckpointable,
    Checkpointable,
    CheckpointableHandler,
    StatefulCheckpointable,
)

__all__ = [
    "AbstractCheckpointable",
    "AlreadyExistsError",
    "Checkpointable",
    "CheckpointableHandler",
    "CheckpointableHandlerRegistry",
    "JsonHandler",
    "NoEntryError",
    "ProtoHandler",
    "PyTreeHandler",
    "StatefulCheckpointable",
    "global_registry",
    "local_registry",
    "register_handler",
]
