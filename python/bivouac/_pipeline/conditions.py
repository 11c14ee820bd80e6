"""Conditions of a graph: which samples a part of it sees.

A statement `if node:` builds the operators of both branches. A node that a branch takes from
outside is split by the predicate, so that the branch sees its own samples only. What the branches
leave in a variable is merged after them. The operators are `_conditional.split` and
`_conditional.merge`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bivouac._pipeline import constants, operators
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import BrokenGraph
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.schemas import Schema

__all__ = ["Conditions", "current"]

Key = tuple[str, str]

WHERE, OTHERS, OUTSIDE = 0, 1, 2


def current() -> Conditions | None:
    """Return the conditions of the current pipeline, or None if it has none."""
    pipeline = operators.current()
    return None if pipeline is None else pipeline._conditions


def _key(node: DataNode) -> Key:
    return node.name, node.device


class _Scope:
    """A _Scope is an `if` with its two branches, or the graph outside of all of them."""

    def __init__(self, predicate: DataNode | None) -> None:
        self.predicate = predicate
        self.branch = OUTSIDE
        self.made: tuple[set[Key], set[Key], set[Key]] = (set(), set(), set())
        self.splits: dict[Key, tuple[DataNode, DataNode]] = {}

    def _sees(self, node: DataNode) -> bool:
        """Report whether a node was made where the scope stands."""
        key = _key(node)
        if self.branch == OUTSIDE:
            return any(key in made for made in self.made)
        return key in self.made[self.branch]

    def has(self, node: DataNode) -> bool:
        """Report whether the node can be used here, as it is or split."""
        return self._sees(node) or _key(node) in self.splits

    def get(self, node: DataNode) -> DataNode:
        """Return what stands for the node here."""
        if self._sees(node):
            return node
        return self.splits[_key(node)][self.branch]

    def add(self, nodes: Any) -> None:
        """Note that nodes were made here."""
        for node in leaves(nodes):
            if isinstance(node, DataNode):
                self.made[self.branch].add(_key(node))

    def add_split(self, nodes: Sequence[DataNode], parts: tuple[DataNode, DataNode]) -> None:
        """Note that parts stand for nodes in the branches."""
        for node in nodes:
            self.splits[_key(node)] = parts
        for branch, part in zip((WHERE, OTHERS), parts):
            self.made[branch].add(_key(part))


class Conditions:
    """Conditions follow the definition of a graph through its branches."""

    def __init__(self) -> None:
        self._scopes = [_Scope(None)]
        self._notes = True

    # What operators do.

    def enter(self, node: DataNode) -> DataNode:
        """Return a node as the current branch sees it."""
        for level in range(len(self._scopes) - 1, -1, -1):
            if self._scopes[level].has(node):
                break
        else:
            raise _Foreign(
                subject=f"node {node.name}",
                want="a node that was made outside of all branches, or left in a variable by both",
                got="one of another branch, or of another graph",
            )
        found = self._scopes[level].get(node)
        inner = self._scopes[level + 1 :]
        del self._scopes[level + 1 :]
        try:
            while inner:
                scope = inner[0]
                self._notes = False
                try:
                    parts = operators.function(
                        "_conditional.split",
                        (found,),
                        {"predicate": scope.predicate, "_if_stmt": True},
                    )
                finally:
                    self._notes = True
                scope.add_split((node, found), (parts[0], parts[1]))
                found = parts[scope.branch]
                self._scopes.append(inner.pop(0))
        finally:
            self._scopes += inner
        return found

    def enter_all(self, nodes: Any) -> Any:
        """Return a structure with its nodes as the current branch sees them."""
        return mapped(lambda x: self.enter(x) if isinstance(x, DataNode) else x, nodes)

    def note(self, nodes: Any, inputs: bool = True) -> None:
        """Note that nodes were made here. Without inputs they have all samples."""
        if self._notes:
            (self._scopes[-1] if inputs else self._scopes[0]).add(nodes)

    def scope(self, schema: Schema) -> dict[str, DataNode]:
        """Return the argument that tells an operator without inputs which samples a branch has."""
        if "_scope" not in schema.params or len(self._scopes) == 1:
            return {}
        scope = self._scopes[-1]
        assert scope.predicate is not None
        inside = scope.branch != OUTSIDE
        return {"_scope": self.enter(scope.predicate) if inside else scope.predicate}

    # What statements do.

    @contextmanager
    def _under(self, predicate: DataNode) -> Iterator[DataNode]:
        """Run with a predicate, as the current branch sees it."""
        depth = len(self._scopes)
        found = self.enter(predicate)
        self._scopes.append(_Scope(found))
        try:
            yield found
        finally:
            del self._scopes[depth:]

    @contextmanager
    def _in(self, branch: int) -> Iterator[None]:
        scope = self._scopes[-1]
        scope.branch = branch
        try:
            yield
        finally:
            scope.branch = OUTSIDE

    def begin(self, predicate: DataNode) -> DataNode:
        """Begin an `if`, in its first branch. Return the predicate that the merge needs."""
        found = self.enter(predicate)
        self._scopes.append(_Scope(found))
        self._scopes[-1].branch = WHERE
        return found

    def other(self) -> None:
        """Go on to the second branch."""
        self._scopes[-1].branch = OTHERS

    def settle(self, value: Any) -> Any:
        """Return what a branch leaves in a variable, as nodes of the branch's samples."""
        return mapped(self._settle, value)

    def _settle(self, value: Any) -> DataNode:
        if not isinstance(value, DataNode):
            made: DataNode = constants.Constant(value, device="cpu")
            value = made
        return self.enter(value)

    def end(self, predicate: DataNode, pairs: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
        """End an `if`. Return the merged values of variables.

        Args:
          predicate: what `begin` returned.
          pairs: what the branches left in each variable.
        """
        scope = self._scopes[-1]
        scope.branch = OUTSIDE
        scope.add(predicate)
        merged = {}
        for name, (where, others) in pairs.items():
            merged[name] = _merge_all(name, where, others, predicate)
        self._scopes.pop()
        self.note(list(merged.values()))
        return merged

    @property
    def depth(self) -> int:
        """In how many branches the definition is."""
        return len(self._scopes) - 1

    def cut(self, depth: int) -> None:
        """Leave the branches that an error has ended, until the definition is in fewer of them."""
        del self._scopes[depth + 1 :]

    def logical(self, kind: str, left: DataNode, right: Callable[[], Any]) -> DataNode:
        """Return the node of `left and right`, or of `left or right`."""
        checked = _checked(kind, "left", left)
        with self._under(checked) as predicate:
            parts: list[DataNode] = []
            for branch in (WHERE, OTHERS):
                with self._in(branch):
                    evaluates = (branch == WHERE) == (kind == "and")
                    value = _checked(kind, "right", right()) if evaluates else predicate
                    parts.append(self.enter(value))
            self._scopes[-1].add(predicate)
            merged = _merge(parts[0], parts[1], predicate)
        self.note(merged)
        return merged


class _Foreign(BrokenGraph, ValueError):
    """A node cannot be used in a branch."""


def _checked(kind: str, side: str, value: Any) -> DataNode:
    made: DataNode = operators.function(
        "_conditional.validate_logical",
        (value,),
        {"expression_name": kind, "expression_side": side},
    )
    if made.device != "cpu":
        raise BrokenGraph(
            subject=f"{side} operand of {kind}", want="a node on the CPU", got="one on the GPU"
        )
    return made


def _merge(where: DataNode, others: DataNode, predicate: DataNode) -> DataNode:
    made: DataNode = operators.function(
        "_conditional.merge", (where, others), {"predicate": predicate}
    )
    return made


def _merge_all(name: str, where: Any, others: Any, predicate: DataNode) -> Any:
    """Merge two structures, which must be alike."""
    if _shape(where) != _shape(others):
        raise Invalid(
            subject=f"variable {name!r} after an if",
            want="values of the same structure from both branches",
            got=f"{_shape(where)} and {_shape(others)}",
        )
    rest = iter(leaves(others))
    return mapped(lambda one: _merge(one, next(rest), predicate), where)


# Structures: tuples, lists and dictionaries, at any depth. None has no leaves.


def leaves(value: Any) -> list[Any]:
    """Return the leaves of a structure. Those of a dictionary are in the order of its keys."""
    found: list[Any] = []
    mapped(found.append, value)
    return found


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a structure with each leaf replaced."""
    if value is None:
        return None
    if isinstance(value, dict):
        keys = _ordered(value)
        made = {key: mapped(function, value[key]) for key in keys}
        return {key: made[key] for key in value}
    if isinstance(value, tuple):
        items = [mapped(function, one) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [mapped(function, one) for one in value]
    return function(value)


def _ordered(value: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _shape(value: Any) -> str:
    """Return the structure in words, with a star for each leaf."""
    if value is None:
        return "None"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shape(value[key])}" for key in _ordered(value)) + "}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(_shape(one) for one in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return "*"
