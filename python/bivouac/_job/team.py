"""Team, the processes of a job that step together.

They agree through the key-value store of torch.distributed or jax.distributed. No collective runs,
so a process that is dead cannot hold the others for ever: each wait has an end, and the error names
the processes that are missing.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

from bivouac import _processes, errors
from bivouac._processes import World
from bivouac.checkpoint._context import Context, get_context

__all__ = ["Team", "team_of"]

_OP = "bivouac.Job"
_LEASE = 0.25  # seconds of steps between two looks at whether the job ends
_MOST = 1000  # steps of a lease
_FAREWELL = 10.0  # seconds that the first process waits for the others at the end
_LOOK = 0.25  # seconds between two looks at whether a process has left


def team_of(directory: str, context: Context | None) -> Team | None:
    """Return the team of this process, or None if it trains alone.

    Raises:
      Unsupported: the options ask for saves that not all processes share.
    """
    world = _processes.world()
    if world is None:
        return None
    options = get_context(context).multiprocessing
    refused = ""
    if options.primary_host is None:
        refused = "primary_host None"
    elif options.active_processes is not None:
        refused = f"active_processes {sorted(options.active_processes)}"
    if refused or world.store is None:
        raise errors.Unsupported(
            op=_OP,
            subject="processes",
            want="one checkpoint of all processes, and a job with a key-value store",
            got=refused or f"a job of {world.source} without a store",
            remedy="save with bivouac.checkpoint.training.Checkpointer, or leave the option out"
            if refused
            else "initialize the job with init_method tcp:// or env://",
        )
    primary = int(options.primary_host or 0)
    if not 0 <= primary < world.count:
        raise errors.Invalid(
            op=_OP, subject="primary_host", want=f"0 to {world.count - 1}", got=str(primary)
        )
    return Team(world, directory, primary, options.barrier_timeout_secs or _processes.TIMEOUT)


class Team:
    """A Team is the processes of a job, as one of them sees it.

    All processes make the same calls in the same order.

    Attributes:
      index: the number of this process.
      count: how many there are.
      primary: the number of the process that decides.
    """

    def __init__(self, world: World, directory: str, primary: int, seconds: float) -> None:
        assert world.store is not None
        self.index, self.count, self.primary = world.index, world.count, primary
        self._store = world.store
        self._source = world.source
        self._seconds = seconds
        number = _processes.count_up(f"bivouac.Job {directory}")
        digest = hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._base = f"bivouac/job/{digest}.{number}"
        self._turn = 0  # decisions so far
        self._old: list[str] = []  # keys that this process has set, and others may still read
        self._left = False
        self._until: int | None = None  # steps that this process may do without a look
        self._steps = 1  # of a lease
        self._looked = (0, 0.0)  # at that step, at that time
        self._asked = False
        self._target: int | None = None

    @property
    def leads(self) -> bool:
        """True on the process that decides and publishes."""
        return self.index == self.primary

    # Decisions.

    def decide(self, what: str, mine: Any, judge: Callable[[list[Any]], Any]) -> Any:
        """Return what the primary makes of the values of all processes.

        Args:
          what: what is decided, for errors.
          mine: the value of this process, as JSON.
          judge: gets the values by the numbers of the processes. It runs on the primary only.

        Raises:
          DeadlineExceeded: processes are missing; the error has their numbers.
          Canceled: a process has left; the error says why.
        """
        key = self._next()
        if not self.leads:
            self._put(f"{key}/{self.index}", json.dumps(mine))
            verdict = json.loads(self._wait(what, f"{key}/all", self._seconds + 5.0))
            self._met(f"{key}/{self.index}")
        else:
            values: list[Any] = [mine] * self.count
            deadline = time.monotonic() + self._seconds
            others = [m for m in range(self.count) if m != self.index]
            texts = [self._wait(what, f"{key}/{m}", deadline - time.monotonic(), m) for m in others]
            missing = [m for m, text in zip(others, texts) if text is None]
            for member, text in zip(others, texts):
                values[member] = None if text is None else json.loads(text)
            verdict = {"missing": missing} if missing else {"value": judge(values)}
            self._put(f"{key}/all", json.dumps(verdict))
            self._met(f"{key}/all")
        if "missing" in verdict:
            raise self._missing(what, verdict["missing"])
        return verdict["value"]

    def agree(self, what: str, error: BaseException | None) -> None:
        """Raise an error on all processes if one of them has one. Its own error, where it has one.

        Args:
          what: what was done, for errors.
          error: what this process has met, or None.
        """
        mine = None if error is None else _as_json(error)
        verdict = self.decide(
            what, mine, lambda all_: next(([m, e] for m, e in enumerate(all_) if e), None)
        )
        if error is not None:
            raise error
        if verdict is not None:
            member, fields = verdict
            found = errors._from_wire(fields)
            fields = found._fields()
            fields["subject"] = f"process {member}: {found.subject}".rstrip(": ")
            raise type(found)(**fields)

    def together(self, what: str, function: Callable[[], Any]) -> Any:
        """Call a function on each process, and raise an error on all if it fails on one of them."""
        value, error = None, None
        try:
            value = function()
        except Exception as err:
            error = err
        self.agree(what, error)
        return value

    def tell(self, what: str, function: Callable[[], Any]) -> Any:
        """Call a function on the primary, and return its value, which is JSON, on all processes."""
        value, error = None, None
        if self.leads:
            try:
                value = function()
            except Exception as err:
                error = err
        key = self._next()
        if self.leads:
            text = {"error": _as_json(error)} if error is not None else {"value": value}
            self._put(f"{key}/all", json.dumps(text))
            self._old.append(f"{key}/all")
            if error is not None:
                raise error
            return value
        told = json.loads(self._wait(what, f"{key}/all", self._seconds + 5.0))
        if "error" in told:
            raise errors._from_wire(told["error"])
        return told["value"]

    def _next(self) -> str:
        """Return the key of the next decision."""
        self._turn += 1
        return f"{self._base}/{self._turn}"

    def _met(self, *keys: str) -> None:
        """Drop the keys before a decision that all processes took part in. Keep its own keys."""
        for key in self._old:
            try:
                self._store.drop(key)
            except Exception:
                break  # some stores cannot remove keys
        self._old = list(keys)

    # The store.

    def _put(self, key: str, text: str) -> None:
        try:
            self._store.put(key, text)
        except Exception as err:
            raise self._gone(err) from err

    def _get(self, key: str) -> str | None:
        try:
            return self._store.get(key)
        except Exception as err:
            raise self._gone(err) from err

    def _gone(self, err: BaseException) -> errors.BivouacError:
        return errors.IOError_(
            op=_OP,
            subject="processes",
            want=f"the store of {self._source}, which process 0 or the launcher holds",
            got=" ".join(str(err).split())[:300],
            remedy="find out whether process 0 has ended",
        )

    def _wait(self, what: str, key: str, seconds: float, member: int | None = None) -> Any:
        """Return the text of a key. Without it, return None for a member, and else raise."""
        deadline = time.monotonic() + seconds
        look = time.monotonic() + _LOOK
        pause = 0.0005
        while (text := self._get(key)) is None:
            now = time.monotonic()
            if now >= look:
                self._check_left(what, key)
                look = now + _LOOK
            if now >= deadline:
                if member is None:
                    raise self._missing(what, [self.primary])
                return None
            time.sleep(min(pause, max(0.0, deadline - now)))
            pause = min(2 * pause, 0.05)
        return text

    def _missing(self, what: str, members: list[int]) -> errors.BivouacError:
        names = ", ".join(map(str, members))
        return errors.DeadlineExceeded(
            op=_OP,
            subject=("process " if len(members) == 1 else "processes ") + names,
            want=f"all {self.count} processes at: {what}, within {self._seconds:g} s",
            got="no message",
            remedy="find out why they are missing, and start all processes again: they continue "
            "after the last whole step",
        )

    def _check_left(self, what: str, key: str) -> None:
        text = self._get(f"{self._base}/left")
        if text is None or self._get(key) is not None:
            return
        left = json.loads(text)
        if left["process"] == self.index:
            return
        raise errors.Canceled(
            op=_OP,
            subject=f"process {left['process']}",
            want=f"all {self.count} processes at: {what}",
            got=f"its end: {left['why']}",
            remedy="start all processes again: they continue after the last whole step",
        )

    # The end.

    def leave(self, why: str) -> None:
        """Tell the others that this process ends before the job does."""
        self._left = True
        try:
            self._store.put_first(
                f"{self._base}/left", json.dumps({"process": self.index, "why": why[:1000]})
            )
        except Exception:
            pass  # the store has ended

    def part(self) -> None:
        """End the use of the store.

        Process 0 may hold the store itself, so it waits for the others, for some seconds.
        """
        try:
            if self.index != 0:
                self._store.put(f"{self._base}/bye/{self.index}", "1")
                return
            deadline = time.monotonic() + (_FAREWELL if not self._left else 1.0)
            for member in range(1, self.count):
                while self._store.get(f"{self._base}/bye/{member}") is None:
                    if time.monotonic() >= deadline:
                        return
                    time.sleep(0.005)
        except Exception:
            pass  # the store has ended

    # The step at which all end.

    def ends(self, step: int, asked: bool) -> bool:
        """Report whether the loop ends, after this process has done `step` steps.

        Each process publishes up to which step it may go without looking whether the job is to
        end: a lease. A process that got a signal says so, and then reads all leases. The job ends
        at the latest of them. A process that publishes a lease after that read sees that the job
        ends before it uses the lease. So no process goes beyond the step, and none waits for
        another one.

        Args:
          step: steps that are done.
          asked: this process got a signal.
        """
        if self._target is None:
            if asked and not self._asked:
                self._asked = True
                self._renew(step, 0)
                self._put(f"{self._base}/end", "1")
                self._target = self._find_target(step)
            elif self._until is None or step >= self._until:
                self._renew(step, self._length(step))
                if self._get(f"{self._base}/end") is not None:
                    self._target = self._find_target(step)
        return self._target is not None and step >= self._target

    @property
    def ending(self) -> bool:
        """True when it is known at which step the job ends."""
        return self._target is not None

    def _length(self, step: int) -> int:
        """Return how many steps a lease has: about those of a quarter of a second."""
        done, at = self._looked
        now = time.monotonic()
        if self._until is not None and step > done:
            per_step = max((now - at) / (step - done), 1e-6)
            self._steps = max(1, min(_MOST, 2 * self._steps, int(_LEASE / per_step)))
        self._looked = (step, now)
        return self._steps

    def _renew(self, step: int, steps: int) -> None:
        """Publish a lease."""
        self._until = step + steps
        self._put(f"{self._base}/until/{self.index}", str(self._until))

    def _find_target(self, step: int) -> int:
        """Return the step at which all end. The first process that finds one decides."""
        found = self._get(f"{self._base}/target")
        if found is None:
            leases = [self._get(f"{self._base}/until/{m}") for m in range(self.count)]
            latest = max([step, *[int(lease) for lease in leases if lease is not None]])
            try:
                found = self._store.put_first(f"{self._base}/target", str(latest))
            except Exception as err:
                raise self._gone(err) from err
        return int(found)


def _as_json(error: BaseException) -> dict[str, Any]:
    """Return an error as it travels."""
    if isinstance(error, errors.BivouacError):
        return {**error._fields(), "text": error.text}
    text = " ".join(str(error).split())
    return {
        "kind": errors.IOError_.kind,
        "op": _OP,
        "got": f"{type(error).__name__}: {text}"[:1000],
        "tags": [],
    }
