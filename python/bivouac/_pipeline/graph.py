"""A graph that is complete: its outputs, and the operators that they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bivouac._pipeline import constants, message
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.operators import Instance
from bivouac._pipeline.refusals import BrokenGraph, WrongType

if TYPE_CHECKING:
    from bivouac._pipeline.callbacks import Callback
    from bivouac._pipeline.pipeline import Pipeline

__all__ = ["callbacks", "check_names", "check_owner", "collect", "messages", "outputs"]


def outputs(given: Any) -> list[DataNode]:
    """Return the nodes of what a program gives as outputs. Constants become nodes."""
    if isinstance(given, tuple):
        given = list(given)
    many = given if isinstance(given, list) else [given]
    return [_output(i, value) for i, value in enumerate(many)]


def _output(i: int, value: Any) -> DataNode:
    if isinstance(value, DataNode):
        return value
    if isinstance(value, constants.ScalarConstant):
        return constants.ConstantNode("cpu", value.value, value.dtype, value.shape, None)
    if isinstance(value, (list, tuple)) and _nested(value):
        raise WrongType(
            subject=f"output {i} of the pipeline",
            want="a DataNode or a constant",
            got=f"a {type(value).__name__} with a DataNode in it",
            remedy="unpack it with *",
        )
    try:
        made: DataNode = constants.Constant(value, device="cpu")
    except TypeError as err:
        raise WrongType(
            subject=f"output {i} of the pipeline",
            want="a DataNode, or a constant: a number, a list of numbers, an array",
            got=type(value).__name__,
        ) from err
    return made


def _nested(values: Sequence[Any]) -> bool:
    return any(
        isinstance(v, DataNode) or isinstance(v, (list, tuple)) and _nested(v) for v in values
    )


def collect(ends: Iterable[DataNode]) -> list[Instance]:
    """Return the operators that nodes need. An operator is after those that it needs."""
    done: set[int] = set()
    out: list[Instance] = []
    pending = [_source(node) for node in reversed(list(ends))]
    while pending:
        top = pending[-1]
        if id(top) in done:
            pending.pop()
            continue
        needed = [_source(node) for node in top.inputs]
        missing = [one for one in needed if id(one) not in done]
        if missing:
            pending.extend(reversed(missing))
            continue
        _check_required(top)
        done.add(id(top))
        out.append(pending.pop())
    return out


def _source(node: DataNode) -> Instance:
    if node.source is None:
        raise BrokenGraph(subject=f"node {node.name}", want="an output of an operator", got="none")
    return node.source


def _check_required(instance: Instance) -> None:
    """Raise an error unless the operator has all arguments that it must have."""
    given = {arg.name for arg in instance.args} | {edge.argument for edge in instance.edges}
    for param in instance.schema.params.values():
        if param.required and param.name not in given:
            raise BrokenGraph(
                subject=f"{instance.operator} {instance.name!r}",
                want=f"the argument {param.name}",
                got="none",
            )


def check_names(instances: Sequence[Instance], pipeline: Pipeline) -> None:
    """Raise an error if operators have the same name."""
    first: dict[str, Instance] = {}
    for instance in instances:
        other = first.setdefault(instance.name, instance)
        if other is instance:
            continue
        foreign = any(one.pipeline is not pipeline for one in (instance, other))
        raise BrokenGraph(
            subject=f"name {instance.name!r}",
            want="a name for each operator",
            got=f"{other.operator} and {instance.operator} of that name",
            remedy="define all operators while this pipeline is the current one" if foreign else "",
        )


def check_owner(instances: Sequence[Instance], pipeline: Pipeline) -> None:
    """Raise an error if an operator was defined while another pipeline was current, or none."""
    foreign = [one.name for one in instances if one.pipeline is not pipeline]
    if foreign:
        raise BrokenGraph(
            subject="enable_checkpointing",
            want="operators that were defined while this pipeline was the current one",
            got=", ".join(foreign),
            remedy="define them in the function of pipeline_def, or in `with pipe:`",
        )


def callbacks(instances: Sequence[Instance]) -> list[Callback]:
    """Return the functions that operators call, and give each its number."""
    found: list[Callback] = []
    for instance in instances:
        if instance.callback is not None:
            instance.args = [
                *(arg for arg in instance.args if arg.name != "function_id"),
                message.argument("function_id", "int64", len(found)),
            ]
            found.append(instance.callback)
    return found


def messages(instances: Sequence[Instance]) -> list[message.Operator]:
    """Return operators as a message has them.

    Instances of one call have the same number, so that they draw the same random numbers.
    """
    numbers: dict[int, int] = {}
    out = []
    for instance in instances:
        number = numbers.setdefault(id(instance.first), len(numbers))
        out.append(instance.message(number))
    return out
