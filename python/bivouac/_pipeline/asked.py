"""The number of outputs of operators whose arguments or inputs decide it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bivouac._pipeline import message

if TYPE_CHECKING:
    from bivouac._pipeline.schemas import Schema

__all__ = ["alone", "number", "outputs"]


def number(
    schema: Schema,
    args: Sequence[message.Argument],
    positional: int,
    operator: Callable[[], message.Operator],
) -> int:
    """Return the number of outputs that arguments or inputs ask for.

    Args:
      schema: the operator.
      args: its constant arguments.
      positional: how many inputs it has.
      operator: makes the operator as a message has it, for the side-car.
    """
    given: dict[str, Any] = {}
    for arg in args:
        param = schema.params.get(arg.name)
        if param is None:
            continue
        if param.type == "features":
            return len(arg.elements)
        values = [e.values[0] for e in arg.elements] if arg.several else arg.values
        given[arg.name] = list(values) if arg.several else values[0]
    rule = schema.count
    if rule is None:
        return outputs(operator())
    found = rule.get("base", 0) + (positional if rule.get("per_input") else 0)
    if "length" in rule:
        found += len(given.get(rule["length"], ()))
    for choice in rule.get("choices", ()):
        flags = (schema.params[flag] for flag in choice["flags"])
        if any(given.get(flag.name, flag.default) for flag in flags):
            found += choice["adds"]
    return int(found)


def alone(operator: message.Operator) -> str:
    """Return a serialized pipeline with one operator, in base64."""
    graph = message.Pipeline(
        num_threads=1,
        batch_size=1,
        ops=[operator],
        outputs=[],
        device_id=message.CPU_ONLY,
        seed=None,
        enable_checkpointing=False,
        executor_type=0,
        executor_flags=0,
        cpu_queue_size=1,
        gpu_queue_size=1,
        bytes_per_sample=0,
    )
    return base64.b64encode(graph.encode()).decode()


def outputs(operator: message.Operator) -> int:
    """Ask the side-car how many outputs an operator has. Those that it names do not count."""
    from bivouac import _client

    answer = _client.connection().call("operator.outputs", graph=alone(operator))
    return int(answer["outputs"])
