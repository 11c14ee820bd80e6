"""The processes of a job of torch.distributed or jax.distributed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from bivouac import _processes

if TYPE_CHECKING:
    from bivouac.checkpoint._context import Context

__all__ = [
    "is_pathways_backend",
    "is_primary_host",
    "process_count",
    "process_index",
    "sync_global_processes",
]


def processes(context: Context, what: str) -> dict[str, Any] | None:
    """Return the argument `processes` of a save, or None if this process saves alone.

    Args:
      context: the options.
      what: what is saved; the same text on all processes. Saves of one text come one by one.
    """
    options = context.multiprocessing
    job = None if options.primary_host is None else _processes.world()
    if job is None:
        return None
    out: dict[str, Any] = {
        "index": job.index,
        "count": job.count,
        "primary": options.primary_host,
        "prefix": f"{_processes.count_up(what)}.",
        "timeout": options.barrier_timeout_secs or _processes.TIMEOUT,
    }
    if options.active_processes is not None:
        out["active"] = sorted(options.active_processes)
    return out


def process_count() -> int:
    """Return the number of processes of the job; 1 without one."""
    jax = sys.modules.get("jax")
    job = _processes.world()
    if job is not None or jax is None:
        return 1 if job is None else job.count
    return int(jax.process_count())


def process_index() -> int:
    """Return the number of this process in the job, from 0; 0 without one."""
    jax = sys.modules.get("jax")
    job = _processes.world()
    if job is not None or jax is None:
        return 0 if job is None else job.index
    return int(jax.process_index())


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
      TimeoutError: processes are missing; the error names them.
    """
    del record_event_name
    job = _processes.world()
    members = sorted(processes) if processes is not None else list(range(process_count()))
    if job is None or len(members) <= 1:
        return
    seconds = _processes.TIMEOUT if timeout is None else float(timeout)
    await asyncio.to_thread(job.barrier, f"{key}.{operation_id}", members, seconds)
