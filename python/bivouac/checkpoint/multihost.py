"""The processes of a JAX job. Without JAX there is one process."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

__all__ = [
    "is_pathways_backend",
    "is_primary_host",
    "process_count",
    "process_index",
    "sync_global_processes",
]


def _jax() -> Any:
    return sys.modules.get("jax")


def job_size() -> int:
    """Return the number of processes of the JAX job without starting JAX's devices."""
    distributed = sys.modules.get("jax._src.distributed")
    state = getattr(distributed, "global_state", None)
    return int(getattr(state, "num_processes", None) or 1)


def process_count() -> int:
    """Return the number of processes of the JAX job; 1 if JAX is not imported."""
    jax = _jax()
    return 1 if jax is None else int(jax.process_count())


def process_index() -> int:
    """Return the number of this process in the JAX job, from 0; 0 if JAX is not imported."""
    jax = _jax()
    return 0 if jax is None else int(jax.process_index())


def is_primary_host(primary_host: int | None) -> bool:
    """Return True if this process is the primary host.

    Args:
      primary_host: number of the primary process; None means that every process is one.
    """
    return primary_host is None or primary_host == process_index()


def is_pathways_backend() -> bool:
    """Return False: Bivouac does not work with Pathways clusters."""
    return False


async def sync_global_processes(
    key: str,
    *,
    operation_id: str,
    timeout: int | None = None,
    processes: Collection[int] | None = None,
    record_event_name: str = "/jax/checkpoint/sync_global_devices_duration_sec",
) -> None:
    """Wait until all processes of the job have called this function with the same key.

    A job of one process does not wait.

    Args:
      key: name of the barrier.
      operation_id: a part of the name, so that two operations do not meet.
      timeout: the most seconds to wait; None means 300.
      processes: numbers of the processes that take part; None means all.
      record_event_name: name under which Orbax records the time; has no effect.

    Raises:
      RuntimeError: the job has several processes, and its barrier cannot be reached from here.
    """
    del timeout, record_event_name
    if process_count() == 1 or (processes is not None and len(processes) == 1):
        return
    utils = sys.modules.get("jax.experimental.multihost_utils")
    if utils is None or processes is not None:
        raise RuntimeError(
            "multihost.sync_global_processes: want jax.experimental.multihost_utils imported,"
            " and all processes"
        )
    utils.sync_global_devices(f"{key}.{operation_id}")
