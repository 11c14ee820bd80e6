"""The half of a Pipeline that runs: batches, data for its inputs, and states."""

from __future__ import annotations

import base64
import contextlib
import enum
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any

from bivouac import _client, errors
from bivouac._failures import ask
from bivouac._pipeline import callbacks, files
from bivouac._pipeline.refusals import BrokenGraph, Unfed
from bivouac._pipeline.remote import Remote
from bivouac._pipeline.tensors import TensorListCPU
from bivouac._pipeline.turns import Turns, in_turn

if TYPE_CHECKING:
    from bivouac._pipeline.sources import Group
    from bivouac._pipeline.workers import Pool

__all__ = ["Running"]


class PipelineAPIType(enum.Enum):
    """The ways to run a pipeline, which are not to be mixed."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


Outputs = tuple[TensorListCPU, ...]


class Running(Turns):
    """The methods of a Pipeline that run it. The graph is made by the subclass.

    Threads that use one pipeline take turns: each batch comes to one of them. A source is called
    in the turn of the thread that needs its data, so it must not wait for another thread that uses
    the same pipeline.
    """

    most_held: int | None = None
    """How many batches the program may hold at a time. None is 64. Set it before the first run."""

    callback_timeout: float | None = None
    """How many seconds a call of a function may take: one of `fn.python_function` and its kin.

    A batch whose call takes longer is an `errors.DeadlineExceeded` that names the function. None is
    what the environment variable BIVOUAC_CALLBACK_TIMEOUT says, or no limit. It is for calls of
    sources with `parallel=True` too. Set it before the first run, or before `start_py_workers`.
    """

    _remote: Remote | None = None
    _pool: Pool | None = None
    _first_iter = True
    _last_iter = False
    _given = 0  # batches of the epoch that the sources have given
    _epoch_idx = 0
    _api_type: PipelineAPIType | None = None
    _skip_api_check = False
    _fed_one: tuple[Any, threading.Condition] | None = None  # the turn, and what tells of data

    # What the subclass has.
    _max_batch_size: int
    _sources: list[Group]
    _callbacks: list[callbacks.Callback]
    _checkpoint: bytes | None
    _py_num_workers: int
    _py_start_method: str
    _py_callback_pickler: Any

    def build(self) -> None:
        """Build the pipeline."""
        raise NotImplementedError

    def _encoded(self) -> bytes:
        """Return the graph."""
        raise NotImplementedError

    def iter_setup(self) -> None:
        """Feed the inputs of a batch. A subclass overrides it; StopIteration ends the epoch."""

    def _open(self, graph: bytes) -> None:
        """Open the pipeline in the side-car."""
        limit = callbacks.time_limit(self.callback_timeout)
        self._remote = Remote(
            graph,
            self._callbacks,
            limit,
            ahead=type(self).iter_setup is Running.iter_setup,
            sources=[name for group in self._sources for name in group.names],
            state=self._checkpoint,
            on_cpu=getattr(self, "_on_cpu", None) or None,
            memory_stats=getattr(self, "_enable_memory_stats", None) or None,
            set_affinity=getattr(self, "_set_affinity", None) or None,
            tolerate_unused=getattr(self, "_tolerant", None) or None,
            hold=self.most_held,
        )
        for text in self._remote.warnings:
            warnings.warn(text, stacklevel=4)
        self._begin_at(self._remote)

    def _begin_at(self, remote: Remote) -> None:
        """Let the sources give the batches from the one on that is begun next."""
        self._epoch_idx, self._given = remote.resets, remote.begun
        self._fed = dict.fromkeys(range(len(self._sources)), remote.begun)
        # By number of the source: a batch, and what of it was not fed, or None for the end.
        self._had: dict[int, tuple[int, list[tuple[str, str | None, Any]] | None]] = {}

    @in_turn
    def _opened(self) -> Remote:
        """Return the pipeline in the side-car. It is built at the first use."""
        if self._remote is None:
            self.build()
        assert self._remote is not None
        return self._remote

    # The ways to run.

    def enable_api_check(self, enable: bool) -> None:
        """Say whether mixing `run` with `schedule_run` and its companions is an error."""
        self._skip_api_check = not enable

    def _check_api_type(self, kind: PipelineAPIType) -> None:
        if self._api_type is None:
            self._api_type = kind
        if kind is not self._api_type and not self._skip_api_check:
            raise RuntimeError(
                f"Mixing pipeline API type. Currently used: {self._api_type}, but trying to use "
                f"{kind}"
            )

    def _set_api_type(self, kind: PipelineAPIType) -> None:
        self._api_type = kind

    @in_turn
    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> Outputs:
        """Run the pipeline and return the next batch: a TensorListCPU for each output.

        Batches are made ahead of their use. `pipeline_inputs` are fed to external sources by name;
        that needs a `prefetch_queue_depth` of 1.

        Raises:
          StopIteration: a source has ended the epoch. `reset` begins the next one.
        """
        del cuda_stream
        remote = self._opened()
        if not pipeline_inputs and self._api_type is PipelineAPIType.BASIC:
            ready = remote.take_ready()
            if ready is not None:
                return ready
        if pipeline_inputs:
            if self._depth() > 1:
                raise RuntimeError(
                    "run: named inputs need prefetch_queue_depth=1 or exec_pipelined=False, got "
                    f"prefetch_queue_depth={self._depth()}; or use feed_input"
                )
            for name, data in pipeline_inputs.items():
                self.feed_input(name, data)
        self._check_api_type(PipelineAPIType.BASIC)
        batch = self._next_batch(remote, self._schedule(remote), self._depth())
        self._first_iter = False
        return batch

    @in_turn
    def schedule_run(self) -> None:
        """Begin a batch; the first time, as many as are made ahead. See `share_outputs`."""
        remote = self._opened()
        self._check_api_type(PipelineAPIType.SCHEDULED)
        self._begin(remote)

    @in_turn
    def _begin(self, remote: Remote) -> None:
        batches = self._schedule(remote)
        if batches:
            with contextlib.suppress(Unfed):  # `_next_batch` raises it in place of the batch
                remote.schedule(batches)
        self._first_iter = False

    @in_turn
    def share_outputs(self, cuda_stream: Any = None) -> Outputs:
        """Return the oldest batch that was begun. It stays the caller's.

        Raises:
          StopIteration: no batch was begun.
        """
        del cuda_stream
        remote = self._opened()
        self._check_api_type(PipelineAPIType.SCHEDULED)
        return self._next_batch(remote, 0)

    def outputs(self, cuda_stream: Any = None) -> Outputs:
        """Return the oldest batch that was begun, like `share_outputs`."""
        return self.share_outputs(cuda_stream)

    @in_turn
    def _outputs(self) -> Outputs:
        """Return the oldest batch for an iterator."""
        return self._next_batch(self._opened(), 0)

    def release_outputs(self) -> None:
        """Do nothing: the memory of a batch is free when nothing refers to it any more."""
        self._check_api_type(PipelineAPIType.SCHEDULED)

    def _next_batch(self, remote: Remote, schedule: int, depth: int = 1) -> Outputs:
        """Begin batches and return the oldest one.

        A batch that was not fed is an error in its place, after the batches before it. With an
        input that is blocking, it is waited for. Other threads have their turns meanwhile.
        """
        runs = schedule > 0
        while True:
            if schedule == 0 and remote.left() == 0:
                schedule = self._given - remote.begun  # batches that could not begin
                if schedule <= 0:
                    raise StopIteration
            try:
                batch = remote.take(schedule, depth)
                break
            except Unfed:
                if remote.left() > 0:
                    batch = remote.take()
                    break
                if not remote.blocks:
                    raise
            self._arrival().wait()
            schedule = self._schedule(remote) if runs else 0
        if batch is None:
            raise StopIteration
        return batch

    def _arrival(self) -> threading.Condition:
        """Return what tells of data that was fed. Who waits for it gives up the turn."""
        if self._fed_one is None or self._fed_one[0] is not self._turn:  # a fork renews the turn
            self._fed_one = self._turn, threading.Condition(self._turn)
        return self._fed_one[1]

    def _depth(self) -> int:
        """Return how many batches are made ahead."""
        depth = getattr(self, "_prefetch_queue_depth", 2)
        if isinstance(depth, dict):
            depth = depth["cpu_size"]
        return int(depth) if getattr(self, "_exec_pipelined", True) else 1

    def _schedule(self, remote: Remote) -> int:
        """Feed the inputs of the next batches, and return how many batches can begin.

        What an interrupted call has fed and not begun is begun first.
        """
        begun = remote.begun_by_now()
        batches = self._depth() if self._first_iter else 1
        while self._given - begun < batches and not self._last_iter:
            try:
                self.iter_setup()
                self._call_sources(remote)
            except StopIteration:
                self._last_iter = True
        return max(0, self._given - begun)

    def _call_sources(self, remote: Remote) -> None:
        """Have each source give the data of the next batch.

        What a source has given is kept until it was fed, so that an interrupt loses none of it.
        Data that does not fit is dropped. At the end of one source, the others have given a batch
        too, which nobody gets.
        """
        if self._pool is not None:
            self._pool.prefetch(self._epoch_idx, self._given)
        for number, group in enumerate(self._sources):
            if self._fed[number] > self._given or self._had.get(number, (-1,))[0] == self._given:
                continue
            try:
                if group.parallel and self._pool is not None:
                    data = self._pool.call(group, self._epoch_idx, self._given)
                else:
                    data = group.call(self._epoch_idx, self._given, self._max_batch_size)
                self._had[number] = self._given, list(zip(group.names, group.layouts, data))
            except StopIteration:
                self._had[number] = self._given, None
        if any(self._had.get(i, (0, ()))[1] is None for i in range(len(self._sources))):
            raise StopIteration
        for number, group in enumerate(self._sources):
            if self._fed[number] > self._given:
                continue
            entries = self._had[number][1] or []
            try:
                while entries:
                    entry = entries[0]
                    if not remote.was_fed(entry):
                        remote.feed(entry[0], entry[2], entry[1], entry)
                    entries.pop(0)
            except (errors.BivouacError, TypeError, ValueError):
                if entries and remote.holds(entries[0]):
                    raise  # it is fed, and is copied by the next call
                self._had.pop(number, None)  # wrong data: the source is asked again
                if group.parallel and self._pool is not None:
                    self._pool.again(group)
                raise
            remote.forget_feed()
            self._fed[number] += 1
        self._given += 1

    @in_turn
    def reset(self) -> None:
        """Begin the next epoch after the end of one. Before the end it does nothing."""
        if not self._last_iter:
            return
        remote = self._opened()
        remote.reset()
        self._first_iter, self._last_iter = True, False
        self._begin_at(remote)
        for group in self._sources:
            group.reset()

    @in_turn
    def _move(self, state: bytes) -> None:
        """Go on from a state."""
        remote = self._opened()
        remote.restore(state)
        self._first_iter, self._last_iter = True, False
        self._begin_at(remote)
        if self._pool is not None:
            self._pool.again()
        for group in self._sources:
            group.reset()

    @in_turn
    def empty(self) -> bool:
        """Report whether every batch that was begun was handed out."""
        return self._remote is None or self._remote.left() == 0

    # Data and descriptions.

    @in_turn
    def feed_input(
        self,
        data_node: Any,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Give an external source a batch.

        Args:
          data_node: name of the external source, or its DataNode.
          data: an array with the samples along its first axis, a list of arrays, one for each
            sample, or a TensorListCPU. Arrays are of numpy, torch, JAX or DLPack, on the CPU. They
            are copied. Bytes, such as an encoded video, are one sample of uint8.
          layout: the layout of a sample.
          cuda_stream: has no effect on a CPU.
          use_copy_kernel: has no effect on a CPU.
        """
        del cuda_stream, use_copy_kernel
        name = data_node if isinstance(data_node, str) else getattr(data_node, "name", None)
        if not isinstance(name, str):
            raise TypeError(
                "feed_input: want the name of an external source or its DataNode, got "
                f"{type(data_node).__name__}"
            )
        remote = self._opened()
        if any(name == instance.name for group in self._sources for instance in group.instances):
            raise BrokenGraph(
                op="feed_input",
                subject=f"external source {name!r}",
                want="one without a source",
                got="one that a source feeds",
            )
        remote.feed(name, data, layout)
        if remote.blocks:
            self._arrival().notify_all()

    @in_turn
    def input_feed_count(self, input_name: str) -> int:
        """Return how many batches an external source must be fed before the first run."""
        inputs = self._opened().inputs
        if input_name not in inputs:
            raise RuntimeError(
                f"input_feed_count: want one of the external sources {sorted(inputs)}, got "
                f"{input_name!r}"
            )
        return inputs[input_name]

    @in_turn
    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Return what a reader says about its data set, or a dictionary of all readers."""
        readers = self._opened().readers
        if name is None:
            return {key: dict(value) for key, value in readers.items()}
        if name not in readers:
            raise RuntimeError(
                f"reader_meta: want one of the readers {sorted(readers)}, got {name!r}"
            )
        return dict(readers[name])

    def epoch_size(self, name: str | None = None) -> Any:
        """Return the padded size of a reader's data set, or a dictionary of all readers."""
        sizes = {key: meta["epoch_size_padded"] for key, meta in self.reader_meta().items()}
        if name is None:
            return sizes
        return self.reader_meta(name)["epoch_size_padded"]

    @in_turn
    def executor_statistics(self) -> dict[str, Any]:
        """Return the memory of each operator, with `enable_memory_stats`."""
        return dict(self._opened().call("statistics")["operators"])

    def save_graph_to_dot_file(
        self,
        filename: str | os.PathLike[str],
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Write a drawing of the graph, in the language of Graphviz.

        Args:
          filename: the file, which is replaced as a whole.
          show_tensors: draw the outputs of operators too.
          show_ids: has no effect.
          use_colors: colour operators by what they do.
        """
        del show_ids
        answer = ask(
            _client.connection(),
            "pipeline.dot",
            graph=base64.b64encode(self._encoded()).decode(),
            tensors=bool(show_tensors),
            colors=bool(use_colors),
        )
        files.write(filename, answer["dot"].encode())

    @in_turn
    def start_py_workers(self) -> None:
        """Start the processes that call sources with `parallel=True`. `build` does it too.

        With `py_start_method="fork"` call it before the program makes threads or uses a GPU.
        """
        self._encoded()
        parallel = [group for group in self._sources if group.parallel]
        if self._pool is None and parallel:
            from bivouac._pipeline import workers

            self._pool = workers.Pool(
                parallel,
                workers=self._py_num_workers,
                method=self._py_start_method,
                pickler=self._py_callback_pickler,
                batch_size=self._max_batch_size,
                limit=callbacks.time_limit(self.callback_timeout),
            )

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Return the memory that processes which call sources have for what they give.

        "capacities" are the bytes of each piece of shared memory, "per_sample_capacities" the same
        divided by the number of samples of a part.
        """
        if self._pool is None:
            return {"capacities": [], "per_sample_capacities": []}
        return self._pool.statistics()

    @in_turn
    def checkpoint(self, filename: str | None = None) -> bytes:
        """Return the state after the batch that was handed out last, and write it to a file.

        The file is replaced as a whole: a program that is killed leaves the old state or the new.
        """
        state = self._opened().state()
        if filename is not None:
            files.write(filename, state)
        return state
