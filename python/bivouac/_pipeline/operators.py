"""Operators of a graph: the classes of `bivouac.ops`, and their instances."""

from __future__ import annotations

import contextlib
import itertools
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bivouac._failures import of_call
from bivouac._pipeline import arguments, asked, constants, message, schemas
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import BrokenGraph, WrongType
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.callbacks import Callback
    from bivouac._pipeline.pipeline import Pipeline
    from bivouac._pipeline.schemas import Schema
    from bivouac._pipeline.sources import Group

__all__ = ["Instance", "Operator", "current", "function", "operator_class"]

DEVICES = ("cpu", "gpu", "mixed")

_detached = itertools.count()
"""Numbers of operators that belong to no pipeline."""


def current() -> Pipeline | None:
    """Return the pipeline whose graph is being defined in this thread."""
    from bivouac._pipeline.pipeline import Pipeline

    return Pipeline.current()


class Operator:
    """An Operator has constant arguments. Calling it adds an instance to the graph.

    Classes of `bivouac.ops` derive from it. Arguments may be given here or in the call.
    """

    schema: ClassVar[Schema]

    def __init__(self, *, device: str = "cpu", **kwargs: Any) -> None:
        schema = type(self).schema
        module = kwargs.pop("_module", ".".join(("nvidia.dali.ops", *schema.module)))
        display = kwargs.pop("_display_name", type(self).__name__)
        self.display = f"{module.replace('nvidia.dali', 'bivouac')}.{display}"
        self.device = device
        if device not in DEVICES:
            raise of_call(
                Invalid(
                    subject=f"device of {self.display}", want=", ".join(DEVICES), got=repr(device)
                )
            )
        self._fixed, self._fed = arguments.separate(kwargs)
        for name in self._fed:
            arguments.check_input(schema, self.display, name)
        self._name = self._fixed.pop("name", None)
        self.preserve = bool(self._fixed.get("preserve", False))
        given = arguments.resolve(schema, self.display, self._fixed)
        self.args = [
            message.argument("device", "string", device),
            *self._own(module, display),
            *arguments.encode(schema, self.display, given),
        ]

    def _own(self, module: str, display: str) -> list[message.Argument]:
        """Return the arguments that say how the program calls the operator."""
        return [
            message.argument("_display_name", "string", display),
            message.argument("_module", "string", module),
        ]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        schema = type(self).schema
        pipeline = current()
        if pipeline is not None:
            inputs = pipeline._begin_call(inputs)
        promoted = _promote(schema, self.display, self.device, inputs)
        sets = _input_sets(self.display, promoted)
        fixed, fed = arguments.separate(kwargs)
        taken = {*self._fixed, *self._fed, *([] if self._name is None else ["name"])}
        for name in [*fixed, *fed]:
            if name in taken:
                raise Invalid(
                    subject=f"argument {name} of {self.display}",
                    got="a value here and another when the operator was made",
                )
        name = fixed.pop("name", self._name)
        preserve = self.preserve or bool(fixed.get("preserve", False))
        fed = {**self._fed, **fed}
        made = [Instance(self, one, fixed, fed, name, preserve) for one in sets]
        for i, instance in enumerate(made):
            instance.first = made[0]
            if pipeline is not None:
                pipeline._called(instance, i)
        if len(made) == 1:
            return made[0].result
        outputs = [instance.outputs for instance in made]
        if len(outputs[0]) == 1:
            return [one[0] for one in outputs]
        return [list(group) for group in zip(*outputs)]


class Instance:
    """An Instance is an operator of a graph, with its inputs, arguments and outputs."""

    def __init__(
        self,
        operator: Operator,
        inputs: Sequence[DataNode],
        fixed: Mapping[str, Any],
        fed: Mapping[str, Any],
        name: str | None,
        preserve: bool,
        *,
        named: bool | None = None,
    ) -> None:
        """Add an instance to the graph.

        Args:
          operator: the operator.
          inputs: its inputs.
          fixed: constant arguments besides those of the operator.
          fed: arguments whose value may differ per sample.
          name: the name, or None for a name that counts.
          preserve: keep the operator although nothing may use its outputs.
          named: what the message says about the name. By default it says whether there is one.
        """
        schema = type(operator).schema
        pipeline = current()
        self.operator = operator.display
        self.schema = schema
        self.device = operator.device
        self.first = self
        self.group: Group | None = None
        self.callback: Callback | None = None
        self._pipeline = None if pipeline is None else weakref.ref(pipeline)
        self._id: int | None = None
        conditions = None if pipeline is None else pipeline._conditions
        if conditions is not None:
            inputs = [conditions.enter(node) for node in inputs]
            fed = {**conditions.enter_all(dict(fed)), **conditions.scope(schema)}
        if name is not None and not isinstance(name, str):
            raise WrongType(subject=f"name of {self.operator}", want="a str", got=repr(name))
        self.name = name if name is not None else self._count_name(type(operator).__name__)
        if pipeline is None and preserve:
            raise BrokenGraph(
                subject=self.operator,
                want="a current pipeline, because the operator has effects",
                got="none",
                remedy="call it in a function of pipeline_def, or in `with pipe:`",
            )
        given = arguments.resolve(schema, self.operator, fixed)
        self.args = [
            *operator.args,
            message.argument(
                "preserve_name", "bool", name is not None if named is None else named
            ),
            *arguments.encode(schema, self.operator, given),
        ]
        self.inputs = list(inputs)
        self.edges = [_edge(node) for node in inputs]
        self._add_fed(fed)
        _warn_deprecated(schema, self.operator)
        self._add_outputs(pipeline, preserve)
        if conditions is not None:
            given_nodes = [*inputs, *fed.values()]
            conditions.note(self.outputs, any(isinstance(x, DataNode) for x in given_nodes))

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline that was current when the operator was called."""
        return None if self._pipeline is None else self._pipeline()

    @property
    def id(self) -> int:
        """The number of the operator in its pipeline."""
        if self._id is None:
            pipeline = self.pipeline
            self._id = next(_detached) if pipeline is None else pipeline._next_op_id()
        return self._id

    @property
    def result(self) -> Any:
        """What the call returns: a node, or a list of nodes."""
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs

    def __repr__(self) -> str:
        return f"<{self.operator} {self.name!r}>"

    def _count_name(self, kind: str) -> str:
        detached = "" if self.pipeline is not None else "detached_"
        return f"__{kind}_{detached}{self.id}"

    def _add_fed(self, fed: Mapping[str, Any]) -> None:
        """Add the arguments whose value may differ per sample, by name."""
        given = arguments.resolve(self.schema, self.operator, fed)
        for name in sorted(given):
            node = _constant(given[name], "cpu", f"argument {name}", self.operator)
            if node.device != "cpu":
                raise Invalid(
                    subject=f"argument {name} of {self.operator}",
                    want="a node on the CPU",
                    got=f"one on {node.device}",
                )
            arguments.check_input(self.schema, self.operator, name)
            self.edges.append(_edge(node, name))
            self.inputs.append(node)

    def _add_outputs(self, pipeline: Pipeline | None, preserve: bool) -> None:
        self.outputs: list[DataNode] = []
        number = len(self.schema.outputs)
        if self.schema.asked:
            number = self._ask()
        device = "cpu" if self.device == "cpu" else "gpu"
        for i in range(number):
            name = self.name if number == 1 else f"{self.name}[{i}]"
            self.outputs.append(DataNode(name, device, self, i))
        if preserve and pipeline is not None:
            sinks = self.outputs or [DataNode(f"{self.name}_sink", device, self, None)]
            for node in sinks:
                pipeline.add_sink(node)

    def _ask(self) -> int:
        """Return the number of outputs that the arguments or inputs ask for."""
        positional = sum(not edge.argument for edge in self.edges)
        return asked.number(self.schema, self.args, positional, lambda: self.message(-1))

    def message(self, logical_id: int) -> message.Operator:
        """Return the operator as a message has it."""
        return message.Operator(
            name=self.schema.written,
            inputs=self.edges,
            outputs=[message.Edge(node.name, node.device) for node in self.outputs],
            args=self.args,
            instance=self.name,
            logical_id=logical_id,
        )


def _edge(node: DataNode, argument: str = "") -> message.Edge:
    return message.Edge(node.name, node.device, argument)


def _promote(schema: Schema, operator: str, device: str, inputs: Sequence[Any]) -> list[Any]:
    """Return inputs in which constants are nodes. A list of nodes stays a list."""
    if not schema.min <= len(inputs) <= schema.max:
        at_most = f"{schema.min} to {schema.max}" if schema.max > schema.min else f"{schema.min}"
        raise Invalid(subject=f"inputs of {operator}", want=at_most, got=str(len(inputs)))
    place = "gpu" if device == "gpu" else "cpu"
    out: list[Any] = []
    for i, given in enumerate(inputs):
        several = isinstance(given, list) and any(isinstance(x, DataNode) for x in given)
        if several:
            out.append([_constant(x, place, f"input {i}", operator) for x in given])
        else:
            out.append(_constant(given, place, f"input {i}", operator))
    return out


def _constant(value: Any, device: str, what: str, operator: str) -> DataNode:
    """Return a node: the value itself, or a constant node of it."""
    if isinstance(value, DataNode):
        return value
    pipeline = current()
    try:
        with contextlib.nullcontext() if pipeline is None else pipeline._promotion():
            if isinstance(value, constants.ScalarConstant):
                return constants.ConstantNode(device, value.value, value.dtype, value.shape, None)
            if isinstance(value, (str, bytes)) or value is None:
                raise TypeError(type(value).__name__)
            made: DataNode = constants.Constant(value, device=device)
            return made
    except TypeError as err:
        raise WrongType(
            subject=f"{what} of {operator}",
            want="a DataNode, a list of them, or a constant",
            got=type(value).__name__,
        ) from err


def _input_sets(operator: str, inputs: Sequence[Any]) -> list[list[DataNode]]:
    """Return the inputs of each instance. Lists of nodes make several instances."""
    lengths = {len(given) for given in inputs if isinstance(given, list)}
    if not lengths:
        return [list(inputs)]
    if len(lengths) > 1:
        raise Invalid(
            subject=f"inputs of {operator}",
            want="lists of the same length",
            got=", ".join(str(n) for n in sorted(lengths)),
        )
    number = lengths.pop()
    columns = [given if isinstance(given, list) else [given] * number for given in inputs]
    return [list(one) for one in zip(*columns)]


def _warn_deprecated(schema: Schema, operator: str) -> None:
    if not schema.deprecated:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn(
            f"`{operator}` is deprecated: {schema.deprecated}.", DeprecationWarning, stacklevel=3
        )


_classes: dict[str, type[Operator]] = {}


def operator_class(name: str) -> type[Operator]:
    """Return the class of an operator by its full name. An unknown name is a KeyError."""
    found = _classes.get(name)
    if found is None:
        schema = schemas.lookup(name)
        base: type[Operator] = Operator
        if "TFRecord" in schema.schema:
            from bivouac._pipeline.records import TFRecordReader

            base = TFRecordReader
        body = {
            "schema": schema,
            "__doc__": schema.doc,
            "__module__": ".".join(("bivouac.ops", *schema.module)),
        }
        found = _classes.setdefault(name, type(schema.class_name, (base,), body))
    return found


def function(
    name: str,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    module: str = "",
    display: str = "",
) -> Any:
    """Call an operator as `bivouac.fn` does: all arguments at once.

    Args:
      name: the full name of the operator.
      inputs: nodes, lists of nodes, and constants.
      kwargs: the arguments. Without `device` it is that of the inputs.
      module: the module that the message names, if it is another than that of the operator.
      display: the name of the function in the message, likewise.
    """
    made = operator_class(name)
    schema = made.schema
    fixed, fed = arguments.separate(kwargs)
    if "device" not in fixed:
        fixed["device"] = _device_of(inputs)
    fixed["_module"] = ".".join(("nvidia.dali", module or ".".join(("fn", *schema.module))))
    fixed["_display_name"] = display or schema.function
    return made(**fixed)(*inputs, **fed)


def _device_of(inputs: Sequence[Any]) -> str:
    """Return the device that an operator has by default: "gpu" if an input is there."""
    for given in inputs:
        many = given if isinstance(given, (list, tuple)) else (given,)
        if any(isinstance(x, DataNode) and x.device == "gpu" for x in many):
            return "gpu"
    return "cpu"
