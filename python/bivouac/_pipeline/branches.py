"""What rewritten functions call: conditions, logical operators, reads of variables, and calls.

Each does for a Python value what Python does, and for a node what the graph needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bivouac._pipeline import operators
from bivouac._pipeline.conditions import Conditions, current
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import BrokenGraph
from bivouac.errors import Unsupported

__all__ = [
    "DONE",
    "RETURN",
    "UNBOUND",
    "If",
    "and_",
    "condition",
    "cut",
    "depth",
    "not_",
    "or_",
    "read",
    "result",
]


class Unbound:
    """An Unbound stands for a variable without a value."""

    def __repr__(self) -> str:
        return "a variable without a value"


UNBOUND = Unbound()


def read(value: Any) -> Any:
    """Return the value of a variable. A node is one of the current branch."""
    if isinstance(value, DataNode):
        conditions = current()
        if conditions is not None:
            return conditions.enter(value)
    return value


class _Jump(Unsupported, TypeError):
    """A branch of a node leaves the statements that both branches share."""


class If:
    """An If is an `if` statement under way. Both branches run if its condition is a node."""

    def __init__(self, test: Any, jumps: str) -> None:
        self.traced = isinstance(test, DataNode)
        self._before: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        if not self.traced:
            self._truth = bool(test)
            return
        if jumps:
            raise _Jump(
                subject=f"if of node {test.name}",
                got=f"a branch with {jumps}, which would end it for some samples only",
                remedy="assign a value in both branches",
            )
        conditions = current()
        if conditions is None:
            bool(test)
        assert conditions is not None
        self._conditions: Conditions = conditions
        self._predicate = conditions.begin(test)

    def where(self) -> bool:
        """Report whether the first branch runs."""
        return self.traced or self._truth

    def others(self) -> bool:
        """Report whether the second branch runs."""
        return self.traced or not self._truth

    def between(self, before: dict[str, Any], after: dict[str, Any], live: tuple[str, ...]) -> None:
        """End the first branch.

        Args:
          before: the variables that a branch sets, before the statement.
          after: their values now.
          live: the variables that are read after the statement.
        """
        self._before = before
        self._first = self._settled(after, live, "if")
        self._conditions.other()

    def end(self, after: dict[str, Any], live: tuple[str, ...]) -> dict[str, Any]:
        """End the statement. Return the values of the variables after it."""
        second = self._settled(after, live, "else")
        pairs = {name: (self._first[name], second[name]) for name in live}
        merged = self._conditions.end(self._predicate, pairs)
        return {**self._before, **merged}

    def _settled(
        self, values: dict[str, Any], live: tuple[str, ...], branch: str
    ) -> dict[str, Any]:
        for name in live:
            if values[name] is UNBOUND:
                what = "a return" if name == RETURN else f"a value of {name}"
                raise BrokenGraph(
                    subject=f"{branch} of a condition that is a node",
                    want=f"{what} in both branches",
                    got="none",
                )
        return {name: self._conditions.settle(values[name]) for name in live}


DONE, RETURN = "_bivouac_done", "_bivouac_return"
"""The variables that hold whether a function returns from a branch, and what.

Nothing reads the first. DALI merges such a variable too, and its operators count in the names.
"""


def result(done: Any, value: Any) -> Any:
    """Return what a function returns that sets a variable in its branches."""
    del done
    return None if value is UNBOUND else value


def condition(test: Any, jumps: str) -> If:
    """Begin an `if`. jumps says which statement of a branch leaves it, or is ""."""
    return If(test, jumps)


def depth() -> int:
    """Return in how many branches the definition is."""
    conditions = current()
    return 0 if conditions is None else conditions.depth


def cut(number: int) -> None:
    """Leave the branches that an error has ended."""
    conditions = current()
    if conditions is not None:
        conditions.cut(number)


def and_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left and right`."""
    value = left()
    conditions = current()
    if isinstance(value, DataNode) and conditions is not None:
        return conditions.logical("and", value, right)
    return value and right()


def or_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left or right`."""
    value = left()
    conditions = current()
    if isinstance(value, DataNode) and conditions is not None:
        return conditions.logical("or", value, right)
    return value or right()


def not_(value: Any) -> Any:
    """Return `not value`."""
    if isinstance(value, DataNode) and current() is not None:
        return operators.function("_conditional.not_", (value,), {})
    return not value
