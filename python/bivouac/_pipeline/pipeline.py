"""Pipeline: a graph of operators with the settings of its run."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bivouac._pipeline import devices, files, graph, message, serialized, settings
from bivouac._pipeline.enums import DALIDataType, OperatorConcurrency, StreamPolicy
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.properties import Properties
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac._pipeline.turns import in_turn
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.callbacks import Callback
    from bivouac._pipeline.conditions import Conditions
    from bivouac._pipeline.operators import Instance
    from bivouac._pipeline.sources import Group

__all__ = ["Pipeline"]


class _Stack(threading.local):
    """The pipelines whose graphs are being defined in this thread."""

    def __init__(self) -> None:
        self.pipelines: list[Pipeline | None] = []


_stack = _Stack()


class Pipeline(Properties):
    """A Pipeline is a graph of operators that makes batches.

    The graph is made by a function of `pipeline_def`, in `with pipe:` with `set_outputs`, or by
    `define_graph` of a subclass.
    """

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | dict[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: bytes | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
    ) -> None:
        """Make a pipeline without a graph.

        Args:
          batch_size: the largest number of samples of a batch.
          num_threads: threads that compute.
          device_id: the number of a GPU. Bivouac computes on the CPU; see BIVOUAC_ON_GPU.
          seed: the seed of random numbers. None draws one at each build.
          exec_pipelined: make batches ahead of the program.
          prefetch_queue_depth: how many batches are made ahead, or
            {"cpu_size": n, "gpu_size": m}.
          exec_async: do not wait for a batch when it is begun.
          bytes_per_sample: a hint about the memory of a sample.
          set_affinity: bind threads to cores.
          max_streams, default_cuda_stream_priority: have no effect.
          enable_memory_stats: count the memory of outputs.
          enable_checkpointing: keep what a state needs.
          checkpoint: a state to continue from.
          py_num_workers: processes that call sources with `parallel=True`.
          py_start_method: "fork" or "spawn".
          py_callback_pickler: what pickles callbacks, with "spawn".
          output_dtype, output_ndim, output_layout: what each batch must have: a value for all
            outputs, or a list with a value for each. None allows everything.
          exec_dynamic: choose DALI's dynamic executor, in which outputs stay valid.
          experimental_exec_dynamic: the old name of exec_dynamic.
          stream_policy, concurrency: are kept in the graph.
        """
        super().__init__()
        if experimental_exec_dynamic is not None:
            _warn("experimental_exec_dynamic is deprecated; use exec_dynamic")
            exec_dynamic = experimental_exec_dynamic
        for name, value in (
            ("default_cuda_stream_priority", default_cuda_stream_priority),
            ("max_streams", max_streams),
        ):
            if value is not None:
                _warn(f"{name} is deprecated and has no effect")
        if seed is not None and seed < 0:
            _warn("a negative seed is deprecated; use None", UserWarning)
            seed = None
        if py_callback_pickler is not None and py_start_method == "fork":
            raise Invalid(
                subject="py_callback_pickler", want='py_start_method="spawn"', got='"fork"'
            )
        settings.check_outputs(output_dtype, output_ndim, output_layout)
        self._cpu_queue_size, self._gpu_queue_size, self._exec_separated = settings.queues(
            prefetch_queue_depth, exec_async
        )
        if exec_dynamic is None and exec_pipelined and exec_async and not self._exec_separated:
            exec_dynamic = True
        self._max_batch_size = batch_size  # type: ignore[assignment]
        self._num_threads = num_threads
        self._device_id = device_id
        self._seed = seed
        self._exec_pipelined = exec_pipelined
        self._exec_async = exec_async
        self._exec_dynamic = exec_dynamic
        # DALI's dynamic executor delivers a batch if only operators fail that no output needs.
        self._tolerant = bool(exec_dynamic)
        self._prefetch_queue_depth = prefetch_queue_depth
        self._bytes_per_sample = bytes_per_sample
        self._set_affinity = set_affinity
        self._enable_memory_stats = enable_memory_stats
        self._enable_checkpointing = enable_checkpointing
        self._checkpoint = checkpoint
        self._py_num_workers = py_num_workers
        self._py_start_method = py_start_method
        self._py_callback_pickler = py_callback_pickler
        self._output_dtype = output_dtype
        self._output_ndim = output_ndim
        self._output_layout = output_layout
        self._stream_policy = stream_policy
        self._concurrency = concurrency
        self._sources: list[Group] = []
        self._callbacks: list[Callback] = []
        self._on_cpu = False
        self._sinks: list[DataNode] = []
        self._graph_out: tuple[Any, ...] | None = None
        self._ops: list[Instance] | None = None
        self._graph_outputs: list[DataNode] = []
        self._bytes: bytes | None = None
        self._built = False
        self._op_ids = 0
        self._conditions: Conditions | None = None

    # The pipeline whose graph is being defined.

    @staticmethod
    def current() -> Pipeline | None:
        """Return the pipeline whose graph is being defined in this thread, or None."""
        return _stack.pipelines[-1] if _stack.pipelines else None

    @staticmethod
    def push_current(pipeline: Pipeline) -> Pipeline | None:
        """Make a pipeline the current one until pop_current. Return the one before."""
        before = Pipeline.current()
        _stack.pipelines.append(pipeline)
        return before

    @staticmethod
    def pop_current() -> None:
        """Make the pipeline current that was current before the last push_current."""
        if not _stack.pipelines:
            raise BrokenGraph(
                subject="pop_current", want="a push_current before it", got="no current pipeline"
            )
        _stack.pipelines.pop()

    def __enter__(self) -> Pipeline:
        Pipeline.push_current(self)
        return self

    def __exit__(self, *exc: object) -> None:
        Pipeline.pop_current()

    # The graph.

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Set the outputs: nodes, and constants."""
        self._graph_out = output_data_nodes

    def define_graph(self) -> Any:
        """Return the outputs. A subclass overrides it; the pipeline is the current one."""
        raise NotImplementedError("define_graph: override it, or call set_outputs")

    def add_sink(self, edge: DataNode) -> None:
        """Keep the operator of a node although no output needs it."""
        self._sinks.append(edge)

    def _begin_call(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs of a call of an operator that begins. Debug mode changes them."""
        return inputs

    def _promotion(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which a constant becomes a node that is an input."""
        return contextlib.nullcontext()

    def _called(self, instance: Instance, part: int) -> None:
        """Take note of an operator, one of several of a call. In debug mode it computes now."""

    def _next_op_id(self) -> int:
        """Return the number of the next operator."""
        number = self._op_ids
        self._op_ids += 1
        return number

    def _finish_graph(self, define_graph: Callable[[], Any] | None = None) -> list[Instance]:
        """Return the operators of the graph. They are collected once."""
        if self._ops is not None:
            return self._ops
        if define_graph is not None and self._graph_out is not None:
            raise BrokenGraph(
                subject="define_graph",
                want="one definition of the graph",
                got="outputs of set_outputs too",
            )
        if self._graph_out:
            given: Any = self._graph_out
        else:
            with self:
                given = (define_graph or self.define_graph)()
        nodes = graph.outputs(given)
        ops = graph.collect([*nodes, *self._sinks])
        graph.check_names(ops, self)
        if self._enable_checkpointing:
            graph.check_owner(ops, self)
        from bivouac._pipeline import sources

        groups = sources.groups(ops)
        settings.check_workers(groups, self._py_num_workers)
        self._sources = groups
        self._callbacks = graph.callbacks(ops)
        self._graph_outputs = nodes
        self._ops = ops
        return ops

    @in_turn
    def serialize(
        self,
        define_graph: Callable[[], Any] | None = None,
        filename: str | os.PathLike[str] | None = None,
    ) -> bytes:
        """Return the graph and its settings as DALI serializes them.

        Callbacks of external sources are not in it.

        Args:
          define_graph: is called in place of the method of that name.
          filename: a file that gets the bytes. It is replaced as a whole.
        """
        if define_graph is not None and not callable(define_graph):
            text = "did you mean serialize(filename=...)?" if isinstance(define_graph, str) else ""
            raise WrongType(
                subject="define_graph", want="a function", got=repr(define_graph), remedy=text
            )
        data = self._encoded(define_graph)
        for callback in self._callbacks:
            raise BrokenGraph(
                subject=callback.operator,
                want="operators that can be serialized",
                got=f"a call of the function {callback.name}",
            )
        if filename is not None:
            files.write(filename, data)
        return data

    def _encoded(self, define_graph: Callable[[], Any] | None = None) -> bytes:
        """Return the graph and its settings. They are encoded once."""
        if self._bytes is None:
            self._finish_graph(define_graph)
            self._bytes = self._message().encode()
        return self._bytes

    def _message(self) -> message.Pipeline:
        batch = settings.number("batch_size", self._max_batch_size, least=1)
        flags = settings.BACKEND
        if self._concurrency is not None:
            flags = self._concurrency.value or settings.BACKEND
        if self._stream_policy is not None:
            flags |= self._stream_policy.value
        flags |= settings.AFFINITY if self._set_affinity else 0
        for size in (self._cpu_queue_size, self._gpu_queue_size):
            settings.number("prefetch_queue_depth", size, least=1)
        return message.Pipeline(
            num_threads=settings.number("num_threads", self._num_threads, -1),
            batch_size=batch,
            ops=graph.messages(self._finish_graph()),
            outputs=self._output_edges(),
            device_id=settings.number("device_id", self._device_id, message.CPU_ONLY),
            seed=None if self._seed is None else settings.number("seed", self._seed),
            enable_checkpointing=bool(self._enable_checkpointing),
            executor_type=settings.executor_type(
                bool(self._exec_pipelined),
                bool(self._exec_async),
                self._exec_separated,
                bool(self._exec_dynamic),
            ),
            executor_flags=flags,
            cpu_queue_size=self._cpu_queue_size,
            gpu_queue_size=self._gpu_queue_size,
            bytes_per_sample=settings.number("bytes_per_sample", self._bytes_per_sample, 0, 0),
        )

    def _output_edges(self) -> list[message.Edge]:
        nodes = self._graph_outputs
        dtypes = settings.declared("output_dtype", self._output_dtype, len(nodes))
        ndims = settings.declared("output_ndim", self._output_ndim, len(nodes))
        layouts = settings.declared("output_layout", self._output_layout, len(nodes))
        return [
            message.Edge(
                node.name,
                node.device,
                dtype=-1 if dtype is None else int(dtype),
                ndim=-1 if ndim is None else ndim,
                layout=layout,
            )
            for node, dtype, ndim, layout in zip(nodes, dtypes, ndims, layouts)
        ]

    # Building.

    @in_turn
    def build(self) -> None:
        """Complete the graph and open it in the side-car. Every method that runs does it first."""
        if self._built:
            return
        data = self._encoded()
        settings.number("num_threads", self._num_threads, least=1)
        self._on_cpu = devices.on_cpu()
        if self._needs_gpu():
            devices.check("the pipeline")
        self.start_py_workers()
        self._open(data)
        self._built = True

    def _needs_gpu(self) -> bool:
        """Report whether the pipeline asks for a GPU."""
        if self._device_id is not None and self._device_id >= 0:
            return True
        if any(node.device != "cpu" for node in self._graph_outputs):
            return True
        ops = self._ops or []
        return any(
            instance.device != "cpu" or any(edge.device != "cpu" for edge in instance.edges)
            for instance in ops
        )

    @classmethod
    def deserialize(
        cls,
        serialized_pipeline: bytes | None = None,
        filename: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Pipeline:
        """Return a built pipeline from what `serialize` wrote, here or in DALI.

        Args:
          serialized_pipeline: the bytes.
          filename: a file with the bytes, in their place.
          kwargs: settings of the constructor that replace those of the bytes.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise Invalid(
                subject="deserialize",
                want="either serialized_pipeline or filename",
                got="neither" if filename is None else "both",
            )
        if filename is not None:
            with open(filename, "rb") as file:
                serialized_pipeline = file.read()
        assert serialized_pipeline is not None
        pipeline = Pipeline.__new__(cls)
        Pipeline.__init__(pipeline)
        pipeline._take(serialized_pipeline, kwargs)
        pipeline.build()
        return pipeline

    def deserialize_and_build(self, serialized_pipeline: bytes) -> None:
        """Take a graph from what `serialize` wrote, and build it.

        Settings of this pipeline that are not None replace those of the bytes.
        """
        own = {
            "batch_size": self._max_batch_size,
            "num_threads": self._num_threads,
            "device_id": self._device_id,
            "seed": self._seed,
        }
        self._take(serialized_pipeline, {k: v for k, v in own.items() if v is not None})
        self.build()

    def _take(self, data: bytes, changes: dict[str, Any]) -> None:
        """Take a graph with its settings, some of which change."""
        self._bytes = serialized.override(data, changes)
        held = serialized.read(self._bytes)
        device, kind = held["device_id"], held["executor_type"]
        self._max_batch_size = held["batch_size"]
        self._num_threads = held["num_threads"]
        self._device_id = None if device < 0 else device
        self._seed = None if held["seed"] < 0 else held["seed"]
        self._enable_checkpointing = bool(held["enable_checkpointing"])
        self._bytes_per_sample = held["bytes_per_sample"]
        self._cpu_queue_size = held["cpu_queue_size"]
        self._gpu_queue_size = held["gpu_queue_size"]
        self._exec_pipelined = bool(kind & settings.PIPELINED)
        self._exec_async = bool(kind & settings.ASYNC)
        self._exec_separated = bool(kind & settings.SEPARATED)
        self._exec_dynamic = bool(kind & settings.DYNAMIC)
        self._tolerant = bool(changes.get("exec_dynamic"))
        self._set_affinity = bool(held["executor_flags"] & settings.AFFINITY)
        self._stream_policy = StreamPolicy(held["executor_flags"] & settings.STREAMS)
        self._concurrency = OperatorConcurrency(held["executor_flags"] & settings.CONCURRENCY)
        self._prefetch_queue_depth = self._cpu_queue_size
        if self._exec_separated:
            sizes = {"cpu_size": self._cpu_queue_size, "gpu_size": self._gpu_queue_size}
            self._prefetch_queue_depth = sizes
        described = serialized.outputs(self._bytes)
        self._output_dtype = [None if d < 0 else DALIDataType(d) for d, _ in described]
        self._output_ndim = [None if n < 0 else n for _, n in described]
        for name in ("enable_memory_stats", "checkpoint"):
            if changes.get(name) is not None:
                setattr(self, f"_{name}", changes[name])


def _warn(text: str, category: type[Warning] = Warning) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default", append=True)
        warnings.warn(text, category, stacklevel=3)
