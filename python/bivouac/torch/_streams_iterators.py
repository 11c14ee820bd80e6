"""Iterators of elastic loaders of iterable data sets, without and with workers.

A batch belongs to the next stream in turn that has not ended. So the order of batches depends on
the number of streams, and not on the number of workers.
"""

from __future__ import annotations

import collections
import multiprocessing
import pickle
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from bivouac import errors
from bivouac.torch._crew import Crew
from bivouac.torch._pin import pin, pins
from bivouac.torch._streams import Lanes, Seeds, StreamPlace, StreamsCourse, StreamsFetcher
from bivouac.torch._worker import FAILURE, WorkerSpec

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["SingleStreams", "StreamsIterator", "WorkersStreams"]

Task = tuple[int, int, bytes | None]
"""A task: the stream, how many items it wants, and their seeds."""


class StreamsIterator:
    """A StreamsIterator is an epoch of an elastic loader of streams, or the rest of one."""

    def __init__(self, loader: StatefulDataLoader, course: StreamsCourse) -> None:
        self._loader = loader
        self._course = course
        self._number = course.turn
        self._pin = pins(loader)
        self._over = self._failed = False
        self.repeated = 0
        described = course.described()
        streams = described["streams"]
        self._places: Lanes = {
            number: StreamPlace(
                stream=number,
                streams=len(streams),
                seed=int(streams[number]["seed"]),
                items=int(streams[number]["items"]),
                ended=bool(streams[number]["ended"]),
                dataset=streams[number]["dataset"],
                iterator=streams[number]["iterator"],
            )
            for number in range(course.rank, len(streams), course.world)
        }
        self._order = list(self._places)
        self._turn = int(described["turn"])
        self._ended = {number: place.ended for number, place in self._places.items()}
        self._given = {number: place.items for number, place in self._places.items()}
        self._seeds = {n: Seeds(p.seed) for n, p in self._places.items()} if course.seeds else {}

    def __iter__(self) -> StreamsIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        if self._failed or self._course.turn != self._number:
            raise errors.Sequence(
                op="StatefulDataLoader",
                got="the iterator has failed, or the loader has a newer one or another state",
                remedy="begin a new iterator: it goes on behind the last batch",
            )
        self._course.begun = True
        try:
            data = self._deliver()
        except StopIteration:
            raise
        except BaseException:  # the streams may have read more than was delivered
            self._failed = True
            self._course.begun = False
            raise
        return pin(data) if self._pin else data

    def _deliver(self) -> Any:
        """Return the next batch, and take the places of the streams behind it."""
        raise NotImplementedError

    def _task(self) -> Task | None:
        """Return the next task, or None if all streams have ended."""
        size = self._course.batch_size
        for turn in range(self._turn, self._turn + len(self._order)):
            number = self._order[turn % len(self._order)]
            if not self._ended[number]:
                seeds = self._seeds.get(number)
                words = None if seeds is None else seeds.take(self._given[number], size)
                self._turn = turn + 1
                self._given[number] += size
                return number, size, words
        return None

    def _settle(self, lanes: Lanes) -> bool:
        """Take the place of a stream behind a task. Return whether the task gave a batch."""
        batch = False
        for number, place in lanes.items():
            self._ended[number] = self._ended[number] or place.ended
            batch = not place.empty
        self._course.delivered(lanes, batch)
        return batch

    def _end(self) -> NoReturn:
        """End the epoch."""
        self._over = True
        self._course.end()
        raise StopIteration

    def leave(self, keep: bool) -> Crew | None:
        """End the iterator."""
        del keep
        self.close()
        return None

    def close(self) -> None:
        """End the workers, if there are any."""


class SingleStreams(StreamsIterator):
    """A SingleStreams reads the streams in the trainer."""

    def __init__(self, loader: StatefulDataLoader, course: StreamsCourse) -> None:
        super().__init__(loader, course)
        self._fetcher = StreamsFetcher(
            loader.dataset,
            loader._batched,
            loader.collate_fn,
            loader.drop_last,
            self._places,
            course.seeds,
            restore=True,
        )
        course.opened(self._fetcher.state())

    def _deliver(self) -> Any:
        while (task := self._task()) is not None:
            data = self._fetcher.fetch(task)
            if self._settle(self._fetcher.state()):
                return data
        self._end()


class WorkersStreams(StreamsIterator):
    """A WorkersStreams reads the streams in worker processes. A stream stays with its worker."""

    def __init__(self, loader: StatefulDataLoader, course: StreamsCourse) -> None:
        self._crew: Crew | None = None
        super().__init__(loader, course)
        self._workers = min(loader.num_workers, len(self._order))
        self._ahead = (loader.prefetch_factor or 2) * self._workers
        self._tasks: collections.deque[int] = collections.deque()  # their workers
        self._sent = 0
        try:
            self._hire(loader)
            self._fill()
        except BaseException:
            self.close()
            raise

    def _worker_of(self, number: int) -> int:
        """Return the worker of a stream."""
        return self._order.index(number) % self._workers

    def _hire(self, loader: StatefulDataLoader) -> None:
        """Start the workers."""
        specs = [
            WorkerSpec(
                worker=i,
                num_workers=self._workers,
                base_seed=self._places[self._order[0]].seed >> 1,
                dataset=loader.dataset,
                iterable=True,
                batched=loader._batched,
                collate=loader.collate_fn,
                drop_last=loader.drop_last,
                init=loader.worker_init_fn,
                torch="torch" in sys.modules,
                streams=True,
                seeds=self._course.seeds,
                lane={n: p for n, p in self._places.items() if self._worker_of(n) == i},
            )
            for i in range(self._workers)
        ]
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._crew = Crew(context, specs, loader.timeout)
        for raw in self._crew.begin():
            self._course.opened(pickle.loads(raw))

    def _fill(self) -> None:
        """Give tasks until enough are under way."""
        assert self._crew is not None
        while len(self._tasks) < self._ahead:
            task = self._task()
            if task is None:
                return
            worker = self._worker_of(task[0])
            self._crew.send(worker, self._sent, task, True)
            self._tasks.append(worker)
            self._sent += 1

    def _deliver(self) -> Any:
        crew = self._crew
        if crew is None:
            raise errors.Closed(op="StatefulDataLoader", got="the iterator was closed")
        while True:
            self._fill()
            if not self._tasks:
                self.close()
                self._end()
            result = crew.receive(self._tasks.popleft())
            if result.kind == FAILURE:
                result.body.reraise()
            batch = result.batch()
            if self._settle(pickle.loads(result.raw)):
                return batch

    def close(self) -> None:
        """End the workers. Batches in hand stay readable."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __del__(self) -> None:
        if getattr(self, "_crew", None) is not None:
            self.close()
