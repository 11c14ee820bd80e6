"""The processes of a job, and a barrier among them.

A job is what torch.distributed or jax.distributed have initialised. The barrier uses the key-value
store of the job and no collective, so it may run while the main thread is in one.

    world() -> World or None     the job of this process
    attend(connection)           answer the barriers of the side-car of a connection
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bivouac import errors

if TYPE_CHECKING:
    from bivouac._client import Connection

__all__ = ["TIMEOUT", "World", "attend", "count_up", "world"]

TIMEOUT = 300.0
"""Seconds that a barrier waits by default."""

_SLICE = 0.05  # seconds between two looks at the store


class Store(Protocol):
    """A Store lets the processes of a job wait for each other."""

    def arrive(self, key: str, self_: int, members: Sequence[int]) -> None:
        """Note that this process is at a barrier. Keys are used once."""

    def wait(self, key: str, members: Sequence[int], seconds: float) -> bool:
        """Return True when all members are there, and False after some seconds."""

    def is_there(self, key: str, member: int) -> bool:
        """Report whether a process has arrived."""

    def forget(self, key: str, self_: int) -> None:
        """Remove what this process has written, if the store can remove."""

    def put(self, key: str, text: str) -> None:
        """Set the text of a key."""

    def put_first(self, key: str, text: str) -> str:
        """Set the text of a key unless it has one, and return the text that it has."""

    def get(self, key: str) -> str | None:
        """Return the text of a key, or None. It does not wait."""

    def drop(self, key: str) -> None:
        """Remove a key, if the store can remove."""


@dataclasses.dataclass(frozen=True)
class World:
    """A World is a job of several processes.

    Attributes:
      index: the number of this process, from 0.
      count: how many processes there are.
      source: "torch.distributed" or "jax.distributed".
      store: lets the processes wait for each other; None if the job has no store.
    """

    index: int
    count: int
    source: str
    store: Store | None

    def barrier(self, key: str, members: Sequence[int], seconds: float) -> None:
        """Wait until all members have called this function with the key.

        Args:
          key: the name of the barrier. The same name may be used again.
          members: numbers of the processes; this process is one of them.
          seconds: the most seconds to wait.

        Raises:
          DeadlineExceeded: processes are missing; the error has their numbers.
          Unsupported: the job has no key-value store.
        """
        if self.store is None:
            raise errors.Unsupported(
                op="barrier",
                want=f"a job of {self.source} with a key-value store",
                got="none",
                remedy="initialize the job with init_method tcp:// or env://",
            )
        name = _name(key, count_up(f"barrier {key}"))
        self.store.arrive(name, self.index, members)
        try:
            there = self.store.wait(name, members, seconds)
        except Exception as err:
            raise errors.IOError_(
                op="barrier", subject=key, want=f"the store of {self.source}", got=str(err)
            ) from err
        if not there:
            raise self._missing(name, members, seconds)
        _forget_earlier(self.store, key, name, self.index)

    def _missing(
        self, name: str, members: Sequence[int], seconds: float
    ) -> errors.DeadlineExceeded:
        """Return the error of a barrier at which processes are missing."""
        assert self.store is not None
        missing = [m for m in members if m != self.index and not self.store.is_there(name, m)]
        who = ", ".join(map(str, missing)) or "unknown number"
        return errors.DeadlineExceeded(
            op="barrier",
            subject=("process " if len(missing) == 1 else "processes ") + who,
            want=f"all {len(members)} processes within {seconds:g} s",
            got="no call",
            remedy="find out why they are missing; all processes must make the same calls, or set"
            " multiprocessing.active_processes to those that save",
        )


def _name(key: str, number: int) -> str:
    """Return the key of a barrier in the store."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return f"bivouac/{digest}.{number}"


_counts: collections.Counter[str] = collections.Counter()
_passed: dict[str, str] = {}  # the last barrier of each save, by the key without its last word
_lock = threading.Lock()


def count_up(what: str) -> int:
    """Return how often this process has called the function with the text, from 1."""
    with _lock:
        _counts[what] += 1
        return _counts[what]


def _forget_earlier(store: Store, key: str, name: str, index: int) -> None:
    """Remove the barrier before this one: all processes have left it, as they are here."""
    save = key.rpartition(":")[0].partition(".")[2]
    with _lock:
        before = _passed.get(save)
        _passed[save] = name
    if before is not None:
        try:
            store.forget(before, index)
        except Exception:
            pass  # some stores cannot remove keys


class TorchStore:
    """A TorchStore uses the default store of torch.distributed.

    All its calls are short: the store has one connection, which the main thread needs too.
    """

    def __init__(self, store: Any) -> None:
        self._store = store

    def arrive(self, key: str, self_: int, members: Sequence[int]) -> None:
        """Implement Store. The last process sets the key "all"."""
        self._store.set(f"{key}/{self_}", "1")
        if self._store.add(f"{key}/count", 1) == len(members):
            self._store.set(f"{key}/all", "1")

    def wait(self, key: str, members: Sequence[int], seconds: float) -> bool:
        """Implement Store."""
        deadline = time.monotonic() + seconds
        pause = 0.001
        while not self._store.check([f"{key}/all"]):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _SLICE)
        return True

    def is_there(self, key: str, member: int) -> bool:
        """Implement Store."""
        return bool(self._store.check([f"{key}/{member}"]))

    def forget(self, key: str, self_: int) -> None:
        """Implement Store. All processes remove the common keys; the first one does it."""
        for last in (str(self_), "count", "all"):
            self._store.delete_key(f"{key}/{last}")

    def put(self, key: str, text: str) -> None:
        """Implement Store."""
        self._store.set(key, text)

    def put_first(self, key: str, text: str) -> str:
        """Implement Store."""
        return str(self._store.compare_set(key, "", text).decode())

    def get(self, key: str) -> str | None:
        """Implement Store."""
        return self._store.get(key).decode() if self._store.check([key]) else None

    def drop(self, key: str) -> None:
        """Implement Store."""
        self._store.delete_key(key)


class JaxStore:
    """A JaxStore uses the coordination service of jax.distributed."""

    def __init__(self, client: Any, count: int) -> None:
        self._client = client
        self._count = count

    def arrive(self, key: str, self_: int, members: Sequence[int]) -> None:
        """Implement Store. The key is for the names of missing processes only."""
        self._client.key_value_set(f"{key}/{self_}", "1", allow_overwrite=True)

    def wait(self, key: str, members: Sequence[int], seconds: float) -> bool:
        """Implement Store."""
        among = None if len(members) == self._count else list(members)
        try:
            self._client.wait_at_barrier(key, max(1, int(seconds * 1000)), among)
        except Exception as err:
            if "DEADLINE_EXCEEDED" in str(err):
                return False
            raise
        return True

    def is_there(self, key: str, member: int) -> bool:
        """Implement Store."""
        return any(name.endswith(f"/{member}") for name, _ in self._client.key_value_dir_get(key))

    def forget(self, key: str, self_: int) -> None:
        """Implement Store."""
        self._client.key_value_delete(f"{key}/{self_}")

    def put(self, key: str, text: str) -> None:
        """Implement Store."""
        self._client.key_value_set(key, text, allow_overwrite=True)

    def put_first(self, key: str, text: str) -> str:
        """Implement Store."""
        try:
            self._client.key_value_set(key, text)
        except Exception as err:
            found = self.get(key)
            if found is None:
                raise err
            return found
        return text

    def get(self, key: str) -> str | None:
        """Implement Store."""
        try:
            return str(self._client.key_value_try_get(key))
        except Exception as err:
            if "NOT_FOUND" in str(err):
                return None
            raise

    def drop(self, key: str) -> None:
        """Implement Store."""
        self._client.key_value_delete(key)


def world() -> World | None:
    """Return the job of this process, or None if it has one process.

    Libraries that are not imported are not asked.

    Raises:
      Invalid: torch.distributed and jax.distributed have different jobs.
    """
    jobs = [job for job in (_torch_world(), _jax_world()) if job is not None]
    if len(jobs) == 2 and (jobs[0].index, jobs[0].count) != (jobs[1].index, jobs[1].count):
        raise errors.Invalid(
            op="processes",
            want="one numbering of the processes",
            got=" and ".join(f"process {j.index} of {j.count} in {j.source}" for j in jobs),
            remedy="initialize both with the same number and count",
        )
    return jobs[0] if jobs else None


def _torch_world() -> World | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    count = distributed.get_world_size()
    if count <= 1:
        return None
    get = getattr(sys.modules["torch.distributed.distributed_c10d"], "_get_default_store", None)
    store = None if get is None else get()
    return World(
        distributed.get_rank(),
        count,
        "torch.distributed",
        None if store is None else TorchStore(store),
    )


def _jax_world() -> World | None:
    # jax.process_count would start the devices.
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    count = getattr(state, "num_processes", None) or 1
    if state is None or count <= 1:
        return None
    client = getattr(state, "client", None)
    store = None if client is None else JaxStore(client, count)
    return World(int(state.process_id), int(count), "jax.distributed", store)


def attend(link: Connection) -> None:
    """Answer the barriers of the side-car of a connection, each in a thread of its own."""
    link.on_ask("barrier", _answer, apart=True)


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    """Wait at a barrier that the side-car asks for."""
    job = world()
    if job is None:
        raise errors.Closed(
            op="barrier",
            want="the job of the save",
            got="it has ended",
            remedy="wait for the response of a save before the job is destroyed",
        )
    members = question.get("processes") or list(range(job.count))
    job.barrier(str(question["key"]), members, float(question.get("timeout") or TIMEOUT))
    return {}
