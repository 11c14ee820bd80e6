"""Iterators of elastic loaders, without and with workers.

Tasks are drawn from blocks ahead of what is delivered. The place of the loader moves when a batch
is delivered, so a state never covers what workers have read ahead.
"""

from __future__ import annotations

import collections
import multiprocessing
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from bivouac import errors
from bivouac.torch._blocks import Course, Place
from bivouac.torch._crew import Crew, Result
from bivouac.torch._pin import pin, pins
from bivouac.torch._seeds import SeededFetcher
from bivouac.torch._worker import FAILURE, WorkerSpec

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["ElasticIterator", "SingleElastic", "WorkersElastic"]


class ElasticIterator:
    """An ElasticIterator is an epoch of an elastic loader, or the rest of one."""

    def __init__(self, loader: StatefulDataLoader, course: Course) -> None:
        self._course = course
        self._turn = course.turn
        self._length = len(loader)
        self._pin = pins(loader)
        self._over = False
        self._at = course.place  # of the next task
        self.repeated = 0
        if self._at.index > self._at.block.batches:  # behind an epoch: this is the next one
            self._at = Place(course.planner.after(self._at.block), 0)

    def __iter__(self) -> ElasticIterator:
        return self

    def __len__(self) -> int:
        return self._length

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        if self._course.turn != self._turn:
            raise errors.Sequence(
                op="StatefulDataLoader",
                got="the loader has a newer iterator, or another state",
                remedy="use one iterator of a loader at a time",
            )
        self._course.begun = True
        data = self._deliver()
        return pin(data) if self._pin else data

    def _deliver(self) -> Any:
        """Return the next batch, and move the place of the loader behind it."""
        raise NotImplementedError

    def leave(self, keep: bool) -> Crew | None:
        """End the iterator. Return its workers if they are kept."""
        del keep
        return None

    def _task(self) -> Place | None:
        """Return the place of the next task, or None at the end of the epoch."""
        while self._at.index >= self._at.block.batches:
            if self._at.block.ended:
                return None
            self._at = Place(self._course.planner.after(self._at.block), 0)
        return self._at

    def _end(self) -> NoReturn:
        """End the epoch."""
        self._over = True
        block = self._at.block
        self._course.move(Place(block, block.batches + 1))
        self._course.begun = False
        raise StopIteration

    def _delivered(self, task: Place) -> None:
        """Move the place of the loader behind a task."""
        self.repeated = task.block.repeated(task.index)
        self._course.move(Place(task.block, task.index + 1))


class SingleElastic(ElasticIterator):
    """A SingleElastic reads the data set in the trainer."""

    def __init__(self, loader: StatefulDataLoader, course: Course) -> None:
        super().__init__(loader, course)
        collate = loader.collate_fn
        self._fetcher = SeededFetcher(loader.dataset, loader._batched, collate, restore=True)

    def _deliver(self) -> Any:
        task = self._task()
        if task is None:
            self._end()
        block, i = task.block, task.index
        try:
            data = self._fetcher.fetch((block.ids(i), block.seeds(i)))
        except Exception:
            self._at = Place(block, i + 1)  # it is told once; after an interrupt it is read again
            raise
        self._at = Place(block, i + 1)
        self._delivered(task)
        return data


class WorkersElastic(ElasticIterator):
    """A WorkersElastic reads the data set in worker processes. Tasks go to them in turn."""

    def __init__(self, loader: StatefulDataLoader, course: Course, crew: Crew | None) -> None:
        self._crew: Crew | None = crew
        super().__init__(loader, course)
        self._workers = loader.num_workers
        self._ahead = (loader.prefetch_factor or 2) * self._workers
        self._persistent = loader.persistent_workers
        self._tasks: collections.deque[tuple[int, Place]] = collections.deque()  # with numbers
        self._held: Result | None = None  # of the first task, or of the one before it
        self._sent = 0
        try:
            self._hire(loader)
            self._fill()
        except BaseException:
            self.close()
            raise

    def _hire(self, loader: StatefulDataLoader) -> None:
        """Start the workers, or take those of the epoch before."""
        if self._crew is not None:
            self._crew.restart()
            return
        specs = [
            WorkerSpec(
                worker=i,
                num_workers=self._workers,
                base_seed=self._at.block.base_seed,
                dataset=loader.dataset,
                iterable=False,
                batched=loader._batched,
                collate=loader.collate_fn,
                drop_last=False,
                init=loader.worker_init_fn,
                torch="torch" in sys.modules,
                elastic=True,
            )
            for i in range(self._workers)
        ]
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._crew = Crew(context, specs, loader.timeout)
        self._crew.begin()

    def _fill(self) -> None:
        """Give tasks until enough are under way.

        If the side-car fails while there are tasks, the next call tries again. An interrupt at any
        instant loses no task: a task that was given is in `_tasks`, or is given again.
        """
        crew = self._crew
        assert crew is not None
        while len(self._tasks) - self._has_first() < self._ahead:
            try:
                task = self._task()
            except errors.BivouacError:
                if self._tasks:
                    return
                raise
            if task is None:
                return
            if not self._tasks or self._tasks[-1][1] is not task:
                seq = self._sent
                index = task.block.ids(task.index), task.block.seeds(task.index)
                crew.send(seq % self._workers, seq, index, False)
                self._tasks.append((seq, task))
            self._sent = self._tasks[-1][0] + 1
            self._at = Place(task.block, task.index + 1)

    def _has_first(self) -> bool:
        """Report whether the result of the first task has come."""
        held, tasks = self._held, self._tasks
        return held is not None and bool(tasks) and held.seq == tasks[0][0]

    def _receive(self, seq: int) -> Result:
        """Return the result of a task. A task that was given twice has two; one is dropped."""
        assert self._crew is not None
        while True:
            result = self._crew.receive(seq % self._workers)
            if result.seq == seq:
                return result
            result.drop()

    def _deliver(self) -> Any:
        if self._crew is None:
            raise errors.Closed(op="StatefulDataLoader", got="the iterator was closed")
        self._fill()
        if not self._tasks:
            if not self._persistent:
                self.close()
            self._end()
        seq, task = self._tasks[0]
        result = self._held
        if result is None or not self._has_first():
            result = self._held = self._receive(seq)
        self._fill()
        batch = None if result.kind == FAILURE else result.batch()
        self._tasks.popleft()
        if result.kind == FAILURE:
            result.body.reraise()
        self._delivered(task)
        return batch

    def leave(self, keep: bool) -> Crew | None:
        """End the iterator. Return its workers if they are kept."""
        if keep:
            crew, self._crew = self._crew, None
            return crew
        self.close()
        return None

    def close(self) -> None:
        """End the workers. Batches in hand stay readable."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __del__(self) -> None:
        if getattr(self, "_crew", None) is not None:
            self.close()
