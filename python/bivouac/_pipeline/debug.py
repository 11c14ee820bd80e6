"""Debug mode: a definition runs for each batch, and each call of an operator computes at once.

    pipe = pipeline_def(define, batch_size=4, num_threads=1, debug=True)()
    pipe.run()                     define() runs, and its nodes have data: node.get()

An operator at a place of the definition is a pipeline of the side-car with this operator alone. It
is made in the first run and kept, so random operators and readers go on from run to run. As in DALI
each operator has a seed of its own, drawn in the order of the calls.

With `enable_conditionals` an operator in a branch computes for the samples of the branch. If there
are none it does not compute, and what is empty is returned as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bivouac._pipeline import callbacks, conditions, devices, message, parts, settings
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.pipeline import Pipeline
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac._pipeline.remote import Remote
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU, as_numpy
from bivouac.errors import Invalid, Unsupported

if TYPE_CHECKING:
    from bivouac._pipeline.operators import Instance
    from bivouac._pipeline.sources import Group

__all__ = ["DataNodeDebug", "PipelineDebug"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_SEED = (1 << 31) - 1

Key = tuple[Any, ...]


class DataNodeDebug(DataNode):
    """A DataNodeDebug is an output of an operator in debug mode. It has data."""

    __hash__ = object.__hash__

    def __init__(
        self,
        data: TensorListCPU,
        name: str,
        device: str = "cpu",
        source: Any = None,
        index: int = 0,
    ) -> None:
        super().__init__(name, device, source, index)
        self._data = data

    def get(self) -> TensorListCPU:
        """Return the batch."""
        return self._data

    def shape(self, **_: Any) -> Any:
        """Return the shape of each sample."""
        return self._data.shape()

    def __str__(self) -> str:
        text = str(self._data).replace("\n", "\n         ")
        return f'DataNodeDebug(\n    name="{self.name}",\n    data={text})'

    __repr__ = __str__

    def _on(self, device: str) -> DataNode:
        if self.device == device:
            return self
        devices.check("debug mode")
        found = conditions.current()
        one = self if found is None else found.enter(self)
        assert isinstance(one, DataNodeDebug)
        made = DataNodeDebug(one._data, one.name, device, one.source, one.index or 0)
        if found is not None:
            found.note(made)
        return made


@dataclasses.dataclass
class _Kept:
    """An operator that was made in the first run."""

    args: list[bytes]
    inputs: list[TensorListCPU]
    seed: int | None
    remote: Remote | None = None  # before the first samples


@dataclasses.dataclass
class _KeptSource:
    """An external source that was made in the first run."""

    group: Group | None
    layout: str | None
    name: str
    iteration: int = 0
    fed: list[Any] = dataclasses.field(default_factory=list)


class PipelineDebug(Pipeline):
    """A PipelineDebug runs its definition for each batch. `pipeline_def(debug=True)` makes it."""

    def __init__(
        self, define: Callable[[], Any], *, conditionals: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._define = define
        self._conditionals = conditionals
        seed = self._seed
        if seed is None:
            seed = int(np.random.randint(_MOST_SEED))
        self._seeds = np.random.default_rng(seed)
        self._kept: dict[Key, _Kept] = {}
        self._kept_sources: dict[Key, _KeptSource] = {}
        self._early: dict[str, list[Any]] = {}  # what was fed before the first run
        self._complete = False  # the first run has made all operators
        self._number = -1  # of the newest call in this run
        self._promotions = 0  # constants among inputs in this run
        self._promoting = False
        self._calls: list[tuple[int, int | None]] = []  # under way: their numbers and seeds
        self._call: tuple[int, int | None] = (-1, None)  # the newest that computed
        self._uniform = True  # no call of the program has split a batch in this run
        self._size: int | None = None  # of the batch of this run
        self._sized = ""  # the line that said so

    def __enter__(self) -> NoReturn:
        raise BrokenGraph(
            subject="pipeline in debug mode",
            want="pipeline_def",
            got="a `with` statement, which debug mode does not have",
        )

    def build(self) -> None:
        """Do what is done before the first run. Operators are made during that run."""
        settings.number("batch_size", self._max_batch_size, least=1)
        settings.number("num_threads", self._num_threads, least=1)
        self._on_cpu = devices.on_cpu()
        self._built = True

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> tuple[TensorListCPU, ...]:
        """Run the definition and return its outputs: a TensorListCPU for each.

        Raises:
          StopIteration: a source has ended the epoch. The next run begins the source again.
        """
        del cuda_stream
        self.build()
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        self._number, self._promotions, self._size, self._op_ids = -1, 0, None, 0
        self._calls, self._uniform = [], True
        self._conditions = conditions.Conditions() if self._conditionals else None
        Pipeline.push_current(self)
        try:
            made = self._define()
            if self._conditions is not None:
                made = self._conditions.enter_all(made)
        finally:
            Pipeline.pop_current()
            self._conditions = None
        self._complete = True
        outputs = made if isinstance(made, tuple) else () if made is None else (made,)
        return tuple(self._output(i, value) for i, value in enumerate(outputs))

    def _output(self, i: int, value: Any) -> TensorListCPU:
        if isinstance(value, DataNodeDebug):
            return value.get()
        if isinstance(value, (list, tuple)):
            raise WrongType(
                subject=f"output {i} of the pipeline",
                want="a DataNodeDebug or a constant",
                got=f"a {type(value).__name__}",
                remedy="unpack it with *",
            )
        if isinstance(value, TensorListCPU):
            return value
        array = np.asarray(value)
        return TensorListCPU(np.tile(array, (self._max_batch_size, *[1] * array.ndim)))

    def feed_input(
        self,
        data_node: Any,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Give an external source a batch for a later run."""
        del cuda_stream, use_copy_kernel
        name = data_node if isinstance(data_node, str) else getattr(data_node, "name", None)
        if not isinstance(name, str):
            raise WrongType(
                subject="feed_input",
                want="the name of an external source or its DataNode",
                got=type(data_node).__name__,
            )
        for kept in self._kept_sources.values():
            if kept.name == name:
                if kept.group is not None:
                    raise BrokenGraph(
                        subject=f"feed_input of {name!r}",
                        want="an external source without a source",
                        got="one with a source",
                    )
                kept.fed.append((data, layout))
                return
        self._early.setdefault(name, []).append((data, layout))

    def _encoded(self, define_graph: Any = None) -> NoReturn:
        raise Unsupported(
            subject="pipeline in debug mode",
            want="run and feed_input",
            got="a call that needs a graph",
            remedy="make the pipeline without debug",
        )

    def _opened(self) -> NoReturn:
        self._encoded()

    def start_py_workers(self) -> None:
        """Do nothing: sources are called in the process of the pipeline."""

    def add_sink(self, edge: DataNode) -> None:
        """Do nothing: every operator that is called computes."""

    # Calls of operators.

    def _key(self, what: str, number: int) -> tuple[Key, str]:
        """Return the key of a call, and the line of the program that makes it."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        where = "".join(traceback.format_list(traceback.extract_stack(frame, 1)))
        place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        return (*place, number, what), where

    def _begin_call(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Begin a call, and return inputs in which batches are nodes.

        The seed of its operator is drawn first: the call may split its inputs, which are calls too.
        """
        if not self._promoting:
            self._number += 1
            seed = None if self._complete else int(self._seeds.integers(_MOST_SEED))
            self._calls.append((self._number, seed))
        made = tuple(self._as_input(given) for given in inputs)
        if self._conditions is not None:
            for i, (given, node) in enumerate(zip(inputs, made)):
                self._check_input(i, given, node)
        return made

    def _check_input(self, i: int, given: Any, node: Any) -> None:
        """Raise an error for an input that conditions cannot split."""
        if isinstance(node, list) and any(isinstance(x, DataNode) for x in node):
            raise Invalid(
                subject=f"input {i} in debug mode with conditionals",
                want="a DataNodeDebug",
                got="a list of several inputs",
                remedy="call the operator for each of them",
            )
        if isinstance(node, DataNodeDebug) and not isinstance(given, DataNode):
            raise Invalid(
                subject=f"input {i} in debug mode with conditionals",
                want="a DataNodeDebug, an output of an operator",
                got=f"a {type(given).__name__}",
                remedy="give it to the pipeline by fn.external_source",
            )

    @contextlib.contextmanager
    def _promotion(self) -> Iterator[None]:
        """Count constants among inputs by themselves: in DALI they are no operators."""
        self._promotions += 1
        self._promoting = True
        try:
            yield
        finally:
            self._promoting = False

    def _called(self, instance: Instance, part: int) -> None:
        """Compute an operator. Its outputs have data then."""
        if part == 0 and not self._promoting:
            self._call = self._calls.pop()
        instance.outputs = self._evaluate(instance, part)

    def _as_input(self, given: Any) -> Any:
        array = isinstance(given, np.ndarray) and given.ndim > 0
        several = isinstance(given, (list, tuple)) and bool(given)
        tensors = several and all(isinstance(x, (np.ndarray, TensorCPU)) for x in given)
        if array or tensors:
            given = TensorListCPU(list(given) if several else given)
        if isinstance(given, TensorListCPU):
            return DataNodeDebug(given, "data")
        if several and any(isinstance(x, TensorListCPU) for x in given):
            return [self._as_input(x) for x in given]
        return given

    def _evaluate(self, instance: Instance, part: int) -> list[DataNode]:
        """Compute an operator, and return its outputs."""
        number, seed = (self._number, None) if self._promoting else self._call
        name = instance.schema.name
        what = f"constant {self._promotions}" if self._promoting else name
        key, where = self._key(f"{what} {part}", number)
        inputs = [self._data(node, i, instance) for i, node in enumerate(instance.inputs)]
        kept = self._kept.get(key)
        encoded = [arg.encode() for arg in instance.args]
        if kept is None:
            if self._complete:
                raise self._unexpected(name)
            kept = self._kept[key] = _Kept(encoded, inputs, seed)
        if name == "_conditional.split":
            self._uniform = self._uniform and b"_if_stmt" in b"".join(encoded)
        batch = self._batch(kept, instance, encoded, inputs, where)
        if self._size is None and batch and not (inputs and self._in_branch):
            self._size, self._sized = len(batch[0]), where
        return [
            DataNodeDebug(data, node.name, node.device, instance, i)
            for i, (data, node) in enumerate(zip(batch, instance.outputs))
        ]

    @property
    def _in_branch(self) -> bool:
        return self._conditions is not None and self._conditions.depth > 0

    def _batch(
        self,
        kept: _Kept,
        instance: Instance,
        encoded: list[bytes],
        inputs: list[TensorListCPU],
        where: str,
    ) -> Sequence[TensorListCPU]:
        """Return the outputs of an operator."""
        name = instance.schema.name
        if name == "_conditional.merge":
            return [parts.merge(*inputs)]
        self._check_sizes(inputs, instance, where)
        if name == "_conditional.split":
            return parts.split(*inputs)
        if inputs and not any(len(data) for data in inputs):
            return [inputs[0]] * len(instance.outputs)
        if kept.remote is None:
            kept.args, kept.inputs = encoded, inputs
            kept.remote = self._make(instance, instance.args, kept.seed)
        self._check_same(kept, encoded, inputs, instance)
        for i, data in enumerate(inputs):
            kept.remote.feed(f"input {i}", data, data.layout() or None)
        batch = kept.remote.take(1)
        assert batch is not None
        return batch

    def _unexpected(self, name: str) -> BrokenGraph:
        return BrokenGraph(
            f"Unexpected operator '{name}'. Debug mode does not support changing the order of "
            "operators executed within the pipeline.",
            subject=name,
        )

    def _data(self, node: Any, i: int, instance: Instance) -> TensorListCPU:
        if not isinstance(node, DataNodeDebug):
            raise BrokenGraph(
                subject=f"input {i} of {instance.operator}",
                want="a node of this run of a pipeline in debug mode",
                got="a node without data",
            )
        return node.get()

    def _check_sizes(self, inputs: Sequence[TensorListCPU], instance: Instance, where: str) -> None:
        if not self._uniform:
            return
        size, sized = self._size, self._sized
        if inputs and (size is None or self._in_branch):
            size, sized = len(inputs[0]), where
        for i, data in enumerate(inputs):
            if len(data) != size:
                raise BrokenGraph(
                    f"Batch size must be uniform across an iteration. Input {i} for operator "
                    f"'{instance.schema.name}' has batch size = {len(data)}. Expected batch size = "
                    f"{size} from:\n{sized}",
                    subject=instance.name,
                )

    def _check_same(
        self, kept: _Kept, args: list[bytes], inputs: list[TensorListCPU], instance: Instance
    ) -> None:
        """Raise an error if constants or the kind of inputs differ from the first run."""
        name = instance.schema.name
        if len(inputs) != len(kept.inputs):
            raise BrokenGraph(
                f"Trying to use operator '{name}' with different number of inputs than when it was "
                f"built. Expected: {len(kept.inputs)} inputs, got {len(inputs)}.",
                subject=instance.name,
            )
        for arg, before, now in zip(instance.args, kept.args, args):
            if before != now:
                raise BrokenGraph(
                    f"Argument '{arg.name}' for operator '{name}' unexpectedly changed value",
                    subject=instance.name,
                )
        for i, (first, data) in enumerate(zip(kept.inputs, inputs)):
            for what, had, has in (
                ("layout", first.layout(), data.layout()),
                ("dtype", first.dtype, data.dtype),
                ("ndim", first._ndim, data._ndim),
            ):
                if had != has:
                    raise BrokenGraph(
                        f"Input {i} for operator '{name}' has {what} = {has}, expected: {had}.",
                        subject=instance.name,
                    )

    def _make(
        self, instance: Instance, args: list[message.Argument], seed: int | None
    ) -> Remote:
        """Make the pipeline of an operator."""
        schema = instance.schema
        takes = schema.random or schema.reader or "seed" in schema.params
        if takes and seed is not None and not any(arg.name == "seed" for arg in args):
            args = [*args, message.argument("seed", "int64", seed)]
        called = []
        if instance.callback is not None:
            called.append(instance.callback)
            args = [*args, message.argument("function_id", "int64", 0)]
        sources = [
            message.Operator(
                name="ExternalSource",
                outputs=[message.Edge(f"input {i}", "cpu")],
                args=[message.argument("device", "string", "cpu")],
                instance=f"input {i}",
            )
            for i in range(len(instance.edges))
        ]
        operator = message.Operator(
            name=schema.written,
            inputs=[
                message.Edge(f"input {i}", "cpu", edge.argument)
                for i, edge in enumerate(instance.edges)
            ],
            outputs=[message.Edge(node.name, node.device) for node in instance.outputs],
            args=args,
            instance=instance.name,
        )
        graph = message.Pipeline(
            num_threads=self._num_threads or 1,
            batch_size=self._max_batch_size,
            ops=[*sources, operator],
            outputs=operator.outputs,
            device_id=message.CPU_ONLY if self._device_id is None else self._device_id,
            seed=seed,
            enable_checkpointing=False,
            executor_type=settings.executor_type(False, False, False, False),
            executor_flags=settings.BACKEND,
            cpu_queue_size=1,
            gpu_queue_size=1,
            bytes_per_sample=0,
        )
        return Remote(
            graph.encode(),
            called,
            callbacks.time_limit(self.callback_timeout),
            on_cpu=self._on_cpu or None,
            hold=1 << 16,
        )

    # External sources.

    def external(self, instances: Sequence[Instance], group: Group | None) -> Any:
        """Return the data of external sources: a node, or a list of them."""
        self._number += 1
        key, where = self._key("external_source", self._number)
        kept = self._kept_sources.get(key)
        if kept is None:
            if self._complete:
                raise self._unexpected("external_source")
            layouts = [arg.values[0] for arg in instances[0].args if arg.name == "layout"]
            name = instances[0].name
            kept = _KeptSource(group, str(layouts[0]) if layouts else None, name)
            kept.fed += self._early.pop(name, [])
            self._kept_sources[key] = kept
        data = self._fetch(kept, instances)
        for i, batch in enumerate(data):
            if self._size is None:
                self._size, self._sized = len(batch), where
            if len(batch) != self._size:
                raise BrokenGraph(
                    "Batch size must be uniform across an iteration. External Source operator "
                    f"returned batch size: {len(batch)}, expected: {self._size}.",
                    subject=f"output {i} of {kept.name}",
                )
        nodes = [
            DataNodeDebug(batch, instance.name, "cpu", instance)
            for batch, instance in zip(data, instances)
        ]
        if group is not None and group.several:
            return nodes
        return nodes[0]

    def _fetch(self, kept: _KeptSource, instances: Sequence[Instance]) -> list[TensorListCPU]:
        """Return the next batch of a source, for each output."""
        if kept.group is None:
            if not kept.fed:
                raise BrokenGraph(
                    subject=f"external source {kept.name!r}",
                    want="a batch of feed_input for each run",
                    got="none",
                )
            data, layout = kept.fed.pop(0)
            return [_batch(data, layout or kept.layout)]
        try:
            given = kept.group.call(self._epoch_idx, kept.iteration, self._max_batch_size)
        except StopIteration:
            kept.iteration = 0
            raise
        kept.iteration += 1
        return [_batch(data, layout) for data, layout in zip(given, kept.group.layouts)]


def _batch(data: Any, layout: str | None) -> TensorListCPU:
    """Return data of the program as a batch of its own, which never changes."""
    if isinstance(data, TensorListCPU):
        return TensorListCPU(data, layout or data.layout())
    if isinstance(data, (list, tuple)):
        if data and isinstance(data[0], TensorCPU):
            layout = layout or data[0].layout()
        return TensorListCPU([np.array(as_numpy(sample)) for sample in data], layout or "")
    array = as_numpy(data)
    if array.ndim == 0:
        raise Invalid(subject="external source", want="samples along a first axis", got="a scalar")
    return TensorListCPU(np.array(array), layout or "")
