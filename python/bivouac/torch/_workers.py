"""The iterator with workers: which task goes to whom, and the state of what was delivered."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
import sys
from typing import TYPE_CHECKING, Any

from bivouac import errors
from bivouac.torch import _state
from bivouac.torch._crew import Crew, Result
from bivouac.torch._iterator import LoaderIterator
from bivouac.torch._pin import pin
from bivouac.torch._state import Lane
from bivouac.torch._worker import DATA, END, FAILURE, WorkerSpec

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["WorkersIterator"]

_SINCE = 64  # tasks of a worker with a state after which it is asked for the state


class WorkersIterator(LoaderIterator):
    """A WorkersIterator reads the data set in worker processes.

    Tasks go to the workers in turn, ahead of what is delivered. The state is the last snapshot: the
    state of the samplers when the last delivered task was given, and the states of the workers
    behind their last delivered batches.
    """

    _length_hint = (
        "For multiprocessing data-loading, this could be caused by not properly configuring the "
        "IterableDataset replica at each worker. Please see "
        "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
    )

    def __init__(self, loader: StatefulDataLoader, state: dict[str, Any] | None) -> None:
        self._crew: Crew | None = None
        super().__init__(loader)
        self._workers = loader.num_workers
        self._interval = abs(loader.snapshot_every_n_steps or 0)
        self._ahead = (loader.prefetch_factor or 0) * self._workers
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        if self._ahead < 1:
            raise ValueError("prefetch_factor option should be 1 or more with workers")
        try:
            if state is None:
                self._hire(loader, [None] * self._workers, None)
                self._start(loader)
            else:
                self._resume(loader, state)
        except BaseException:
            self.close()
            raise

    # The workers.

    def _hire(
        self, loader: StatefulDataLoader, lanes: list[Lane | None], skips: list[int] | None
    ) -> None:
        """Start the workers."""
        context = loader.multiprocessing_context or multiprocessing.get_context()
        specs = [
            WorkerSpec(
                worker=i,
                num_workers=self._workers,
                base_seed=self._base_seed,
                dataset=self._dataset,
                iterable=self._iterable,
                batched=self._batched,
                collate=self._collate,
                drop_last=self._drop_last,
                init=loader.worker_init_fn,
                torch="torch" in sys.modules,
                lane=lanes[i],
                skip_items=skips[i] if skips else 0,
            )
            for i in range(self._workers)
        ]
        self._crew = Crew(context, specs, loader.timeout)

    def _clear(self, loader: StatefulDataLoader) -> None:
        """Begin an epoch of the samplers, and forget what was delivered."""
        self._open_samplers(loader)
        n = self._workers
        self._active = [True] * n  # workers that are not known to be at their end
        self._busy = [0] * n
        self._current = [True] * n  # the state of the worker is behind its last batch
        self._turn = itertools.cycle(range(n))
        self._sent = self._received = self._faults = 0
        self._last = n - 1
        self._tasks: dict[int, int] = {}  # task: its worker
        self._mains: collections.deque[tuple[int, dict[str, Any]]] = collections.deque()
        self._settled: set[int] = set()  # tasks from `received` on that are settled; out of order
        self._ahead_before: frozenset[int] = frozenset()

    def _start(self, loader: StatefulDataLoader) -> None:
        """Begin an epoch without a state."""
        assert self._crew is not None
        self._clear(loader)
        self._lanes = self._crew.begin()
        self._begin_main = self._main()
        self._shot = (0, self._last, self._begin_main, list(self._lanes))
        self._prime()

    def reset(self, loader: StatefulDataLoader) -> None:
        """Begin the next epoch with the same workers."""
        assert self._crew is not None
        lanes = self._crew.restart()
        self._clear(loader)
        self._lanes = lanes
        self._begin_main = self._main()
        self._shot = (0, self._last, self._begin_main, list(self._lanes))
        self._prime()

    def _prime(self) -> None:
        for _ in range(self._ahead):
            self._send()

    # Tasks.

    def _send(self) -> None:
        """Give the next task to a worker, if there is one and a worker for it."""
        crew = self._crew
        assert crew is not None
        while True:
            try:
                index = next(self._indices)
            except StopIteration:
                return
            self._drawn += 1
            main, lane = self._wanted()
            worker = self._choose()
            if worker < 0:
                return
            seq = self._sent
            self._sent += 1
            if main:
                self._mains.append((seq, self._main()))
            if seq in self._ahead_before:
                self._settle(seq)
                continue
            if crew.since(worker) >= _SINCE:
                lane = True
            self._tasks[seq] = worker
            self._busy[worker] += 1
            crew.send(worker, seq, index, lane)
            return

    def _choose(self) -> int:
        """Return the worker of the next task, or -1."""
        if not self._in_order:
            order = [next(self._turn) for _ in range(self._workers)]
            able = [i for i in order if self._active[i]]
            return min(able, key=self._busy.__getitem__) if able else -1
        for _ in range(self._workers):
            worker = next(self._turn)
            if self._active[worker]:
                return worker
        return -1

    def _wanted(self) -> tuple[bool, bool]:
        """Return what the next task must bring so that the snapshot at its step can be taken: the
        state of the samplers, the state of the worker."""
        n = self._interval
        if not self._in_order:
            return True, True
        if n < 1:
            return False, False
        if self._iterable:
            ahead = self._yielded % n + 1 + self._ahead
            return ahead >= n, ahead + self._workers >= n
        step = self._drawn - self._faults
        return step % n == 0, (step - 1) % n + self._workers >= n

    def __next__(self) -> Any:
        try:
            data = self._next()
        except StopIteration:
            self._finished = self._over = True
            raise
        if self._pin:
            data = pin(data)
        if self._announced is not None:
            self._check_length()
        return data

    def _next(self) -> Any:
        crew = self._crew
        if self._over or crew is None:
            raise StopIteration
        while True:
            worker = self._expected()
            if worker is None:
                if not self._persistent:
                    self.close()
                raise StopIteration
            result = crew.receive(worker) if worker >= 0 else crew.receive_any()
            if self._take(result):
                return result.batch()

    def _expected(self) -> int | None:
        """Return the worker whose turn it is, -1 for any worker, or None at the end."""
        if not self._in_order:
            busy = any(self._active[worker] for worker in self._tasks.values())
            return -1 if busy else None
        while self._received < self._sent:
            worker = self._tasks.get(self._received)
            if worker is not None and self._active[worker]:
                return worker
            self._tasks.pop(self._received, None)  # its worker has ended
            self._received += 1
        return None

    def _take(self, result: Result) -> bool:
        """Settle a task. Return True if it has a batch, and raise what it raised."""
        worker, seq, raw = result.worker, result.seq, result.raw
        self._tasks.pop(seq, None)
        self._busy[worker] -= 1
        if self._in_order:
            self._received += 1
        if result.kind == END:
            self._active[worker] = False
            self._send()
            self._update(worker, raw)
            return False
        self._settle(seq)
        if result.kind == FAILURE:
            self._faults += 1
            self._send()
            result.body.reraise()
        assert result.kind == DATA
        self._send()
        self._last = worker
        self._current[worker] = False
        self._update(worker, raw)
        self._yielded += 1
        self._shoot(seq)
        return True

    def _settle(self, seq: int) -> None:
        """Remember that a task out of order is settled."""
        if self._in_order:
            return
        self._settled.add(seq)
        while self._received in self._settled:
            self._settled.remove(self._received)
            self._received += 1

    # States.

    def _update(self, worker: int, raw: bytes | None) -> None:
        """Take over the state of a worker."""
        if raw is not None:
            self._lanes[worker] = raw
            self._current[worker] = True

    def _main(self) -> dict[str, Any]:
        """Return the state of the samplers."""
        state = _state.sampler_states(self._sampler, self._indices, self._drawn, self._announced)
        return {_state.NUM_WORKERS: self._workers, **state, _state.BASE_SEED: self._base_seed}

    def _shoot(self, seq: int) -> None:
        """Take the snapshot behind a task where it is due and everything for it has come.

        Behind a task that failed it may be late. The state then counts more steps.
        """
        mains = self._mains
        if not self._in_order:
            while mains and mains[0][0] < self._received:
                self._begin_main = mains.popleft()[1]
            self._shot = (self._yielded, self._last, self._begin_main, list(self._lanes))
            return
        if self._interval < 1 or self._yielded % self._interval:
            return
        main = None
        while mains and mains[0][0] <= seq:
            at, state = mains.popleft()
            if at == seq:
                main = state
        if main is not None and all(self._current):
            self._shot = (self._yielded, self._last, main, list(self._lanes))

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        step, last, main, lanes = self._shot
        state = {
            _state.SNAPSHOT: {
                _state.STEP: step,
                _state.LAST_WORKER: last,
                _state.MAIN: dict(main),
                _state.WORKERS: {
                    f"worker_{i}": _state.lane_document(i, raw, self._iterable)
                    for i, raw in enumerate(lanes)
                },
            },
            _state.SINCE: self._yielded - step,
            _state.FINISHED: self._finished,
        }
        if not self._in_order:
            ahead = [] if self._iterable else [seq - self._received for seq in self._settled]
            state[_state.OUT_OF_ORDER] = {
                _state.AHEAD: sorted(ahead),
                _state.ITEMS: [_state.items_of(raw) for raw in lanes],
            }
        return state

    def _resume(self, loader: StatefulDataLoader, state: dict[str, Any]) -> None:
        """Go on from a state."""
        shot = self._checked(state)
        main, documents = shot[_state.MAIN], shot[_state.WORKERS]
        lanes = [_state.lane_of(documents[f"worker_{i}"]) for i in range(self._workers)]
        self._base_seed = main.get(_state.BASE_SEED, self._base_seed)
        replay = self._iterable and lanes[0][0] is None and lanes[0][1] is None
        extra = state.get(_state.OUT_OF_ORDER)
        if extra is not None and self._in_order:
            raise errors.Mismatch(
                op="load_state_dict",
                subject="in_order",
                want="in_order=False, as the loader that was saved",
                got="in_order=True",
            )
        if replay and extra is None:
            self._hire(loader, [None] * self._workers, None)
            self._start(loader)
            self._fast_forward(shot[_state.STEP])
            if self._last != shot[_state.LAST_WORKER]:
                raise ValueError(
                    "last_yielded_worker_id does not match, the dataset may have changed"
                )
        else:
            items = extra[_state.ITEMS] if extra is not None else [0] * self._workers
            places: list[Lane | None] = [None] * self._workers
            if not replay:
                places = [(*lane[:3], n) for lane, n in zip(lanes, items, strict=True)]
            self._hire(loader, places, items if replay else None)
            self._go_on(loader, shot, extra)
        self._replay(state[_state.SINCE])
        self._finished = state[_state.FINISHED]

    def _go_on(self, loader: StatefulDataLoader, shot: Any, extra: Any) -> None:
        """Give the tasks that follow a snapshot."""
        assert self._crew is not None
        main = shot[_state.MAIN]
        self._clear(loader)
        self._lanes = self._crew.begin()
        self._load_samplers(main)
        self._announced = main[_state.LEN_CALLED]
        self._yielded, self._last = shot[_state.STEP], shot[_state.LAST_WORKER]
        self._begin_main = main
        self._shot = (self._yielded, self._last, main, list(self._lanes))
        for _ in range(self._last + 1):
            next(self._turn)
        if extra is not None:
            self._ahead_before = frozenset(extra[_state.AHEAD])
        self._prime()

    def _checked(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the snapshot of a state, or raise an error if it is not for this loader."""
        remedy = "use the number of workers of the loader that was saved"
        if _state.SNAPSHOT not in state:
            raise errors.Mismatch(
                op="load_state_dict",
                subject=_state.SNAPSHOT,
                want="a state of a loader with workers",
                got="a state without that key",
                remedy=remedy,
            )
        shot: dict[str, Any] = state[_state.SNAPSHOT]
        saved, documents = shot[_state.MAIN][_state.NUM_WORKERS], shot[_state.WORKERS]
        names = {f"worker_{i}" for i in range(self._workers)}
        if saved != self._workers or set(documents) != names:
            raise errors.Mismatch(
                op="load_state_dict",
                subject="num_workers",
                want=str(saved),
                got=str(self._workers),
                remedy=remedy,
            )
        return shot

    def close(self) -> None:
        """End the workers. Batches in hand stay readable."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __del__(self) -> None:
        if getattr(self, "_crew", None) is not None:
            self.close()
