"""What code of the user can learn of the worker, or stream, that it runs in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info", "inform", "inside"]


@dataclass(frozen=True)
class WorkerInfo:
    """A WorkerInfo tells code in a worker about the worker.

    In an elastic loader of an iterable data set it tells about the stream.

    Attributes:
      id: the number of the worker, from 0.
      num_workers: how many workers the loader has.
      seed: the seed of the random numbers of torch and Python in the worker.
      dataset: the worker's copy of the data set.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the WorkerInfo in a worker of a loader, and None in another process."""
    return _info


def inform(info: Any) -> Any:
    """Set what get_worker_info returns, here and in torch. Return what torch's returned."""
    global _info
    _info = info if isinstance(info, WorkerInfo) else None
    module: Any = sys.modules.get("torch.utils.data._utils.worker")
    if module is None:
        return None
    before, module._worker_info = module._worker_info, info
    return before


@contextlib.contextmanager
def inside(info: WorkerInfo) -> Iterator[None]:
    """Set what get_worker_info returns while a stream is read."""
    before = _info
    theirs = inform(info)
    try:
        yield
    finally:
        inform(theirs if theirs is not None else before)
