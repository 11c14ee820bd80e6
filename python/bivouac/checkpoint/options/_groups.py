"""The groups of options that are neither of arrays nor of memory."""

from __future__ import annotations

import dataclasses
import enum
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bivouac.checkpoint.options._base import LOCAL, Options, at_least, bad, refuse

if TYPE_CHECKING:
    from bivouac.checkpoint.handlers import CheckpointableHandlerRegistry
    from bivouac.checkpoint.serialization import LeafHandlerRegistry


@dataclasses.dataclass(kw_only=True)
class AsyncOptions(Options):
    """Options of saves in the background.

    Attributes:
      timeout_secs: the most seconds of a save in the background, from the call to the commit. A
        save that takes longer is given up, and nothing of it is visible. -1 means no bound.
      post_finalization_callback: called without arguments, in a thread of Bivouac, after each save
        in the background that is durable and visible.
      create_directories_asynchronously: no effect; nothing is visible before the commit.
    """

    timeout_secs: int = 1200
    post_finalization_callback: Callable[[], None] | None = dataclasses.field(
        default=None, metadata=LOCAL
    )
    create_directories_asynchronously: bool = True

    def _check(self) -> None:
        if self.timeout_secs != -1:
            at_least("timeout_secs", self.timeout_secs, 0)
        if self.post_finalization_callback is not None and not callable(
            self.post_finalization_callback
        ):
            raise bad("post_finalization_callback", "a function", self.post_finalization_callback)


class AtomicityMode(enum.Enum):
    """How a save becomes visible."""

    AUTO = "auto"
    COMMIT_FILE = "commit_file"
    ATOMIC_RENAME = "atomic_rename"


@dataclasses.dataclass(kw_only=True)
class AtomicityOptions(Options):
    """Options of how a save becomes visible.

    Attributes:
      mode: AUTO and ATOMIC_RENAME rename a complete directory. COMMIT_FILE loads only directories
        that have commit_success.txt; saves refuse it.
      allow_legacy_atomic_rename: with COMMIT_FILE, True also loads what Orbax before 0.12.3 saved
        on local file systems.
    """

    mode: AtomicityMode = AtomicityMode.AUTO
    allow_legacy_atomic_rename: bool = False

    def _check(self) -> None:
        if not isinstance(self.mode, AtomicityMode):
            raise bad("atomicity.mode", "an AtomicityMode", self.mode)


class CheckpointLayout(enum.Enum):
    """A family of formats."""

    ORBAX = "orbax"
    SAFETENSORS = "safetensors"
    AUTO = "auto"


def _global_registry() -> CheckpointableHandlerRegistry:
    from bivouac.checkpoint.handlers import global_registry

    return global_registry()


@dataclasses.dataclass(kw_only=True)
class CheckpointablesOptions(Options):
    """Options of items.

    Attributes:
      registry: finds the handler of an item. The default is the registry of the process.
    """

    registry: CheckpointableHandlerRegistry = dataclasses.field(
        default_factory=_global_registry, metadata=LOCAL
    )


@dataclasses.dataclass(kw_only=True)
class DeletionOptions(Options):
    """Options of deletions.

    Attributes:
      gcs_deletion_options: where deleted checkpoints go.
    """

    @dataclasses.dataclass(kw_only=True)
    class GcsDeletionOptions(Options):
        """Where deleted checkpoints go. It works on every file system.

        Attributes:
          todelete_full_path: directory below which a checkpoint is renamed instead of deleted,
            absolute or relative to the directory of the checkpoints; None deletes.
        """

        todelete_full_path: str | None = None

    gcs_deletion_options: GcsDeletionOptions = dataclasses.field(default_factory=GcsDeletionOptions)


@dataclasses.dataclass(kw_only=True)
class FileOptions(Options):
    """Options of directories and files.

    Attributes:
      path_permission_mode: mode of the directories that a save makes, less the umask, and of its
        files without execution; None means 0o777.
      path_class: class of paths; only pathlib.Path.
      skip_sync_file_validations: no effect; the check is one look at the target.
    """

    path_permission_mode: int | None = None
    path_class: type[pathlib.Path] = dataclasses.field(default=pathlib.Path, metadata=LOCAL)
    skip_sync_file_validations: bool = False

    def _check(self) -> None:
        at_least("path_permission_mode", self.path_permission_mode, 0)
        if not (isinstance(self.path_class, type) and issubclass(self.path_class, pathlib.Path)):
            raise refuse(
                "path_class", self.path_class, "use pathlib.Path; the server opens the files"
            )


@dataclasses.dataclass(kw_only=True)
class MultiprocessingOptions(Options):
    """Options of jobs of several processes.

    In a job of several processes, which torch.distributed or jax.distributed has initialised, all
    processes make the same calls, and save one checkpoint together.

    Attributes:
      primary_host: number of the process that commits and deletes; None means that each process
        saves checkpoints of its own, on a file system of its own.
      active_processes: numbers of the processes that take part; None means all. The others save
        nothing, and need not call.
      barrier_sync_key_prefix: text before the names of barriers.
      barrier_timeout_secs: the most seconds to wait for other processes at a barrier; None means
        300. If a process is missing, there is no checkpoint, and the error names the process.
    """

    primary_host: int | None = dataclasses.field(default=0, metadata={"null": True})
    active_processes: set[int] | None = None
    barrier_sync_key_prefix: str | None = None
    barrier_timeout_secs: float | None = dataclasses.field(default=None, metadata=LOCAL)

    def _check(self) -> None:
        at_least("primary_host", self.primary_host, 0)
        at_least("barrier_timeout_secs", self.barrier_timeout_secs, 0.001)
        for process in self.active_processes or ():
            at_least("active_processes", process, 0)


@dataclasses.dataclass(kw_only=True)
class PathwaysOptions(Options):
    """Options of Pathways clusters.

    Attributes:
      checkpointing_impl: refused unless None; Bivouac does not work with Pathways.
    """

    checkpointing_impl: Any = None

    def _check(self) -> None:
        if self.checkpointing_impl is not None:
            raise refuse(
                "checkpointing_impl", self.checkpointing_impl, "leave it out; there is no Pathways"
            )


@dataclasses.dataclass(kw_only=True)
class PyTreeMetadataOptions(Options):
    """Options of what is recorded about a tree.

    Attributes:
      support_rich_types: True records tuples, named tuples and dataclasses as such. Else they load
        as lists and dictionaries without an abstract tree.
    """

    support_rich_types: bool = False


@dataclasses.dataclass(kw_only=True)
class PyTreeOptions(Options):
    """Options of trees.

    Attributes:
      saving: options of saving.
      loading: options of loading.
      leaf_handler_registry: finds the handlers of leaves that are not arrays, numbers or strings;
        None means that there are none. Orbax had this option before 0.11.40.
    """

    @dataclasses.dataclass(kw_only=True)
    class Saving(Options):
        """Options of saving trees.

        Attributes:
          pytree_metadata_options: what is recorded about the tree.
        """

        pytree_metadata_options: PyTreeMetadataOptions = dataclasses.field(
            default_factory=PyTreeMetadataOptions
        )

    @dataclasses.dataclass(kw_only=True)
    class Loading(Options):
        """Options of loading trees.

        Attributes:
          partial_load: True lets the abstract tree leave out leaves of the checkpoint.
        """

        partial_load: bool = False

    saving: Saving = dataclasses.field(default_factory=Saving)
    loading: Loading = dataclasses.field(default_factory=Loading)
    leaf_handler_registry: LeafHandlerRegistry | None = dataclasses.field(
        default=None, metadata=LOCAL
    )

    def _check(self) -> None:
        registry = self.leaf_handler_registry
        if registry is not None and not all(
            callable(getattr(registry, name, None)) for name in ("get", "get_abstract", "get_all")
        ):
            raise bad("leaf_handler_registry", "a LeafHandlerRegistry", registry)


@dataclasses.dataclass(kw_only=True)
class SafetensorsOptions(Options):
    """Options of reading safetensors files.

    Attributes:
      max_over_read_ratio: the most bytes that are read for one byte that is wanted, at least 1;
        None reads gaps of up to 64 KiB.
      read_chunk_bytes: the most bytes of one read; None means about 4 MiB.
    """

    max_over_read_ratio: float | None = None
    read_chunk_bytes: int | None = None

    def _check(self) -> None:
        at_least("max_over_read_ratio", self.max_over_read_ratio, 1)
        at_least("read_chunk_bytes", self.read_chunk_bytes, 1)
