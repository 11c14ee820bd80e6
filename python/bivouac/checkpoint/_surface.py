"""The names of `bivouac.checkpoint`."""

from __future__ import annotations

from bivouac.checkpoint import (
    arrays,
    errors,
    handlers,
    multihost,
    options,
    partial,
    path,
    serialization,
    training,
    tree,
)
from bivouac.checkpoint._api import (
    checkpointables_metadata,
    delete,
    delete_async,
    is_orbax_checkpoint,
    load,
    load_async,
    load_checkpointables,
    load_checkpointables_async,
    load_pytree,
    load_pytree_async,
    metadata,
    pytree_metadata,
    save,
    save_async,
    save_checkpointables,
    save_checkpointables_async,
    save_pytree,
    save_pytree_async,
)
from bivouac.checkpoint._context import Context, configure
from bivouac.checkpoint._engine import PLACEHOLDER
from bivouac.checkpoint._extra import SourceLeaf, Verdict, load_and_transform, verify
from bivouac.checkpoint._metadata import CheckpointMetadata, PyTreeMetadata
from bivouac.checkpoint._response import AsyncResponse
from bivouac.checkpoint.handlers import (
    AbstractCheckpointable,
    Checkpointable,
    CheckpointableHandler,
    StatefulCheckpointable,
)

__all__ = [
    "PLACEHOLDER",
    "AbstractCheckpointable",
    "AsyncResponse",
    "CheckpointMetadata",
    "Checkpointable",
    "CheckpointableHandler",
    "Context",
    "PyTreeMetadata",
    "SourceLeaf",
    "StatefulCheckpointable",
    "Verdict",
    "arrays",
    "checkpointables_metadata",
    "configure",
    "delete",
    "delete_async",
    "errors",
    "handlers",
    "is_orbax_checkpoint",
    "load",
    "load_and_transform",
    "load_async",
    "load_checkpointables",
    "load_checkpointables_async",
    "load_pytree",
    "load_pytree_async",
    "metadata",
    "multihost",
    "options",
    "partial",
    "path",
    "pytree_metadata",
    "save",
    "save_async",
    "save_checkpointables",
    "save_checkpointables_async",
    "save_pytree",
    "save_pytree_async",
    "serialization",
    "training",
    "tree",
    "verify",
]
