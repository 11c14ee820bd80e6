"""What the client knows of operators: names, inputs, outputs and arguments.

The data is in operators.json. `go generate ./pipeline/fn` writes it from the engine's schemas. It
is read at the first use.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

__all__ = ["Parameter", "Port", "Schema", "lookup", "members", "modules", "names"]


@dataclasses.dataclass(frozen=True)
class Port:
    """A Port describes an input or an output."""

    name: str
    doc: str
    optional: bool = False


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A Parameter describes an argument.

    Attributes:
      type: bool, int, float, str, dtype, image, interp or features; with "s" a list.
      default: the default. Enumerations have names, and None means that there is none.
      sample: a different value for each sample is allowed.
      deprecated: what to use instead, or "".
      renamed: the name that the argument has now, or "".
      ignored: the argument has no effect.
    """

    name: str
    type: str
    doc: str
    default: Any = None
    required: bool = False
    sample: bool = False
    deprecated: str = ""
    renamed: str = ""
    ignored: bool = False

    @property
    def several(self) -> bool:
        """Report whether a constant is a list."""
        return self.type.endswith("s")


@dataclasses.dataclass(frozen=True)
class Schema:
    """A Schema describes an operator.

    Attributes:
      name: the full name in `bivouac.fn`, such as "readers.file".
      schema: DALI's name.
      written: the name in a serialized pipeline, which differs for some older names.
      max: the largest number of inputs.
      asked: arguments or inputs decide the number of outputs.
      count: how they decide it, or None if only the engine knows.
    """

    name: str
    schema: str
    written: str
    doc: str
    min: int
    max: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    params: dict[str, Parameter]
    asked: bool
    count: dict[str, Any] | None
    random: bool
    stateful: bool
    reader: bool
    deprecated: str

    @property
    def module(self) -> tuple[str, ...]:
        """Return the names of the modules that hold the operator."""
        return tuple(self.name.split(".")[:-1])

    @property
    def function(self) -> str:
        """Return the name in `bivouac.fn`, without modules."""
        return self.name.rpartition(".")[2]

    @property
    def class_name(self) -> str:
        """Return the name in `bivouac.ops`, without modules. Names of instances begin with it."""
        last = self.schema.rpartition("__")[2] if self.module else self.schema
        return last.lstrip("_") if "TFRecord" in last else last


def lookup(name: str) -> Schema:
    """Return the schema of an operator. An unknown name is a KeyError."""
    return _schema(name)


def names() -> list[str]:
    """Return the full names of all operators, sorted."""
    return sorted(_rows())


def modules() -> list[str]:
    """Return the names of the modules that hold operators, such as "readers", sorted."""
    found: set[str] = set()
    for name in _rows():
        parts = name.split(".")[:-1]
        found.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    return sorted(found)


def members(module: str) -> dict[str, str]:
    """Return the operators of a module: full names by last names. "" has those without a module."""
    prefix = f"{module}." if module else ""
    rest = ((name, name[len(prefix) :]) for name in _rows() if name.startswith(prefix))
    return {last: name for name, last in rest if "." not in last}


@functools.lru_cache(maxsize=None)
def _document() -> dict[str, Any]:
    """Return the contents of the file."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("operators.json").read_bytes())
    return loaded


@functools.lru_cache(maxsize=None)
def _rows() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _document()["operators"]}


@functools.lru_cache(maxsize=None)
def _schema(name: str) -> Schema:
    row = _rows()[name]
    params = [Parameter(**p) for p in [*row.get("params", ()), *_document()["common"]]]
    return Schema(
        name=name,
        schema=row["schema"],
        written=row.get("alias", row["schema"]),
        doc=row["doc"],
        min=row.get("min", 0),
        max=row.get("max", 0),
        inputs=tuple(Port(**p) for p in row.get("inputs", ())),
        outputs=tuple(Port(**p) for p in row.get("outputs", ())),
        params={p.name: p for p in params},
        asked=row.get("asked", False),
        count=row.get("count"),
        random=row.get("random", False),
        stateful=row.get("stateful", False),
        reader=row.get("reader", False),
        deprecated=row.get("deprecated", ""),
    )
