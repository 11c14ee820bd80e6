"""Options of saves and loads, in groups. A `Context` has one object of each group.

The groups, fields and defaults are Orbax's, except that `ArrayOptions.Saving.use_compression` is
False here. `BivouacOptions` has the options that Orbax does not have.

A field does one of three things. Most act in the server. Functions act in this process. A value
that cannot act is refused with the reason: when the group is made, or by the call if that depends
on the job. Fields for devices have no effect here, as their attributes say.
"""

from __future__ import annotations

from bivouac.checkpoint.options._array import ArrayOptions
from bivouac.checkpoint.options._bivouac import BivouacOptions
from bivouac.checkpoint.options._groups import (
    AsyncOptions,
    AtomicityMode,
    AtomicityOptions,
    CheckpointablesOptions,
    CheckpointLayout,
    DeletionOptions,
    FileOptions,
    MultiprocessingOptions,
    PathwaysOptions,
    PyTreeMetadataOptions,
    PyTreeOptions,
    SafetensorsOptions,
)
from bivouac.checkpoint.options._memory import MemoryOptions

__all__ = [
    "ArrayOptions",
    "AsyncOptions",
    "AtomicityMode",
    "AtomicityOptions",
    "BivouacOptions",
    "CheckpointLayout",
    "CheckpointablesOptions",
    "DeletionOptions",
    "FileOptions",
    "MemoryOptions",
    "MultiprocessingOptions",
    "PathwaysOptions",
    "PyTreeMetadataOptions",
    "PyTreeOptions",
    "SafetensorsOptions",
]
