"""Options of arrays."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from bivouac.checkpoint.arrays import as_dtype
from bivouac.checkpoint.options._base import LOCAL, Options, at_least, bad, refuse


class _DefaultStore:
    """The default of array_metadata_store, which is not None."""

    def __repr__(self) -> str:
        return "<default>"


DEFAULT_STORE = _DefaultStore()


@dataclasses.dataclass(kw_only=True)
class ArrayOptions(Options):
    """Options of saving and loading arrays.

    Attributes:
      saving: options of saving.
      loading: options of loading.
    """

    @dataclasses.dataclass(kw_only=True)
    class Saving(Options):
        """Options of saving arrays.

        Attributes:
          storage_options: dtype and chunks of all arrays.
          use_ocdbt: True stores the arrays of an item in one database, else each in a directory.
          use_zarr3: True writes Zarr 3, else Zarr 2.
          use_compression: True compresses arrays of more than 1024 bytes with zstd. Orbax's default
            is True. Weights hardly shrink, and compression takes most of the time of a save.
          ocdbt_target_data_file_size: size of a data file in bytes at which the next one begins; 0
            means no bound, None the default of the writer.
          enable_pinned_host_transfer: no effect; arrays come from host memory.
          enable_post_merge_validation: no effect; a commit is always compared with its manifest.
          use_replica_parallel: True makes processes that have the same shard share the work: each
            writes a slice of it. All of them need the same option and equal elements. It acts on
            DTensors, on Parts and on arrays of jax over several processes. None is False; Orbax's
            default is True, except on GPUs.
          min_slice_bytes_for_replica_parallel: the smallest slice in bytes; None means 64 KiB. In
            Orbax the default is no minimum, which is 1 here.
          max_replicas_for_replica_parallel: the most processes that share a shard; None has no
            bound.
          enable_replica_parallel_separate_folder: True is refused by saves of several processes
            with use_replica_parallel, as all write one database. Other saves ignore it.
          enable_write_sharding_file: False records no devices of JAX arrays. Then Orbax loads them
            only with an abstract tree.
          array_metadata_store: None records no chunks of JAX arrays; typed PRNG keys are recorded
            always. Other values than None and the default are refused.
          scoped_storage_options_creator: called for each array with its path and its value when it
            is saved; returns its storage options, or None for those of all arrays.
        """

        @dataclasses.dataclass(kw_only=True)
        class StorageOptions(Options):
            """How one array is stored.

            Attributes:
              dtype: dtype of the stored array; None keeps the array's. A value that the dtype does
                not have is an error at the save.
              chunk_byte_size: the most bytes of a chunk; None means about 4 MiB.
              shard_axes: axes along which chunks are cut first.
            """

            dtype: npt.DTypeLike | None = None
            chunk_byte_size: int | None = None
            shard_axes: tuple[int, ...] | None = None

            def _check(self) -> None:
                if self.dtype is not None:
                    as_dtype(self.dtype)
                at_least("chunk_byte_size", self.chunk_byte_size, 1)
                for axis in self.shard_axes or ():
                    at_least("shard_axes", axis, 0)

            def wire(self) -> dict[str, Any]:
                """Return the fields that are set, as the server takes them."""
                out: dict[str, Any] = {}
                if self.dtype is not None:
                    out["dtype"] = as_dtype(self.dtype).name
                if self.chunk_byte_size is not None:
                    out["chunk_byte_size"] = int(self.chunk_byte_size)
                if self.shard_axes:
                    out["shard_axes"] = [int(axis) for axis in self.shard_axes]
                return out

        @runtime_checkable
        class ScopedStorageOptionsCreator(Protocol):
            """A function that returns the storage options of one array, or None."""

            def __call__(
                self, key: tuple[Any, ...], value: Any
            ) -> ArrayOptions.Saving.StorageOptions | None:
                """Return the storage options of the array at a path.

                Args:
                  key: path of the array, as keys of jax.tree_util or of module tree.
                  value: the array.
                """
                ...

        storage_options: StorageOptions = dataclasses.field(
            default_factory=StorageOptions, metadata=LOCAL
        )
        use_ocdbt: bool = True
        use_zarr3: bool = True
        use_compression: bool = False
        ocdbt_target_data_file_size: int | None = None
        enable_pinned_host_transfer: bool | None = None
        enable_post_merge_validation: bool = True
        use_replica_parallel: bool | None = None
        min_slice_bytes_for_replica_parallel: int | None = None
        max_replicas_for_replica_parallel: int | None = None
        enable_replica_parallel_separate_folder: bool = False
        enable_write_sharding_file: bool = True
        array_metadata_store: Any = dataclasses.field(
            default=DEFAULT_STORE, metadata={"null": True}
        )
        scoped_storage_options_creator: ScopedStorageOptionsCreator | None = dataclasses.field(
            default=None, metadata=LOCAL
        )

        def _check(self) -> None:
            at_least("ocdbt_target_data_file_size", self.ocdbt_target_data_file_size, 0)
            store, creator = self.array_metadata_store, self.scoped_storage_options_creator
            if store is not None and store is not DEFAULT_STORE:
                raise refuse("array_metadata_store", store, "leave it out, or set None")
            if creator is not None and not callable(creator):
                raise bad("scoped_storage_options_creator", "a function", creator)

    @dataclasses.dataclass(kw_only=True)
    class Loading(Options):
        """Options of loading arrays.

        Attributes:
          enable_padding_and_truncation: True makes an array fit the wanted shape; else another
            shape is an error.
          raise_array_data_missing_error: False takes the fill value for chunks that are missing.
            What a manifest lists must be there either way.
          use_load_and_broadcast: True is refused by loads in a job of several processes: each
            process reads what it asks for. One process alone ignores it, as does
            load_and_transform.
          load_and_broadcast_options: no effect, because use_load_and_broadcast is refused.
        """

        @dataclasses.dataclass(kw_only=True)
        class LoadAndBroadcastOptions(Options):
            """Options of loads by one replica. They have no effect: no load broadcasts.

            Attributes:
              replica_axis_index: axis of the mesh along which replicas lie.
              primary_replica_id: the replica that reads.
              broadcast_memory_limit_bytes: the most bytes of memory.
              broadcast_memory_scaling_factor: the share of the free memory, up to 1.
            """

            replica_axis_index: int | None = 0
            primary_replica_id: int | None = 0
            broadcast_memory_limit_bytes: int | None = None
            broadcast_memory_scaling_factor: float | None = 0.75

        enable_padding_and_truncation: bool = False
        raise_array_data_missing_error: bool = True
        use_load_and_broadcast: bool = False
        load_and_broadcast_options: LoadAndBroadcastOptions = dataclasses.field(
            default_factory=LoadAndBroadcastOptions
        )

    saving: Saving = dataclasses.field(default_factory=Saving)
    loading: Loading = dataclasses.field(default_factory=Loading)
