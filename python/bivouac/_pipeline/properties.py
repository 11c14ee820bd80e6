"""The properties of a Pipeline, by DALI's names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from bivouac._pipeline import settings
from bivouac._pipeline.enums import DALIDataType, OperatorConcurrency, StreamPolicy
from bivouac._pipeline.running import Running

if TYPE_CHECKING:
    from bivouac._pipeline.node import DataNode

__all__ = ["Properties"]


class Properties(Running):
    """Properties are what a pipeline says about its settings."""

    _max_batch_size: int
    _num_threads: int | None
    _device_id: int | None
    _seed: int | None
    _exec_pipelined: bool
    _exec_async: bool
    _exec_dynamic: bool | None
    _exec_separated: bool
    _prefetch_queue_depth: int | dict[str, int]
    _cpu_queue_size: int
    _gpu_queue_size: int
    _bytes_per_sample: int
    _set_affinity: bool
    _stream_policy: StreamPolicy | None
    _concurrency: OperatorConcurrency | None
    _enable_memory_stats: bool
    _enable_checkpointing: bool
    _checkpoint: bytes | None
    _py_num_workers: int
    _py_start_method: str
    _output_dtype: Any
    _output_ndim: Any
    _output_layout: Any
    _graph_outputs: list[DataNode]

    @property
    def batch_size(self) -> int:
        """The old name of max_batch_size."""
        with warnings.catch_warnings():
            warnings.simplefilter("default", append=True)
            warnings.warn("batch_size is deprecated; use max_batch_size", Warning, stacklevel=2)
        return self._max_batch_size

    @property
    def max_batch_size(self) -> int:
        """The largest number of samples of a batch."""
        return self._max_batch_size

    @property
    def num_threads(self) -> int | None:
        """The number of threads that compute."""
        return self._num_threads

    @property
    def device_id(self) -> int | None:
        """The number of the GPU, or None."""
        return self._device_id

    @property
    def seed(self) -> int | None:
        """The seed of random numbers, or None if each build draws one."""
        return self._seed

    @property
    def exec_pipelined(self) -> bool:
        """Whether batches are made ahead of the program."""
        return self._exec_pipelined

    @property
    def exec_async(self) -> bool:
        """Whether a batch is begun without waiting for it."""
        return self._exec_async

    @property
    def exec_dynamic(self) -> bool | None:
        """Whether outputs stay valid, or None if other settings exclude it."""
        return self._exec_dynamic

    @property
    def exec_separated(self) -> bool:
        """Whether CPU and GPU have queues of their own."""
        return self._exec_separated

    @property
    def stream_policy(self) -> StreamPolicy | None:
        """The policy of streams, as given."""
        return self._stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency | None:
        """The concurrency of operators, as given."""
        return self._concurrency

    @property
    def set_affinity(self) -> bool:
        """Whether threads are bound to cores."""
        return self._set_affinity

    @property
    def max_streams(self) -> int:
        """-1: the setting has no effect."""
        return -1

    @property
    def default_cuda_stream_priority(self) -> int:
        """0: the setting has no effect."""
        return 0

    @property
    def prefetch_queue_depth(self) -> int | dict[str, int]:
        """How many batches are made ahead, as given."""
        return self._prefetch_queue_depth

    @property
    def cpu_queue_size(self) -> int:
        """How many batches the CPU makes ahead."""
        return self._cpu_queue_size

    @property
    def gpu_queue_size(self) -> int:
        """How many batches the GPU makes ahead."""
        return self._gpu_queue_size

    @property
    def enable_memory_stats(self) -> bool:
        """Whether the memory of outputs is counted."""
        return self._enable_memory_stats

    @property
    def py_num_workers(self) -> int:
        """The number of processes that call sources with `parallel=True`."""
        return self._py_num_workers

    @property
    def py_start_method(self) -> str:
        """How these processes start."""
        return self._py_start_method

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline continues from a state."""
        return self._checkpoint is not None

    @property
    def num_outputs(self) -> int:
        """The number of outputs. The pipeline is built."""
        self.build()
        return self._count_outputs()

    def _count_outputs(self) -> int:
        """Return the number of outputs. A pipeline that was serialized describes each of them."""
        return len(self._graph_outputs) or len(self._output_dtype or ())

    def output_dtype(self) -> list[DALIDataType | None]:
        """Return the types that outputs must have. The pipeline is built."""
        self.build()
        return settings.declared("output_dtype", self._output_dtype, self._count_outputs())

    def output_ndim(self) -> list[int | None]:
        """Return the numbers of dimensions that outputs must have. The pipeline is built."""
        self.build()
        return settings.declared("output_ndim", self._output_ndim, self._count_outputs())
