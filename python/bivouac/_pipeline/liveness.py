"""Which variables a function reads after a statement."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, Union

__all__ = ["Loop", "always_live", "before", "declared", "loop_live", "places", "reads", "stores"]

Names = frozenset[str]
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

NONE: Names = frozenset()
_functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Loop(NamedTuple):
    """A Loop says what is read after a break, and after a continue."""

    after: Names
    again: Names


def _inner(node: ast.AST) -> list[ast.AST]:
    """Return a node and the nodes in it, without the bodies of functions and classes in it."""
    found = [node]
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_functions, ast.ClassDef)):
            found.append(child)
        else:
            found += _inner(child)
    return found


def reads(node: ast.AST | None) -> Names:
    """Return the variables that a node reads, in functions in it too."""
    if node is None:
        return NONE
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, ast.Load))


def stores(nodes: Sequence[ast.AST]) -> Names:
    """Return the variables that statements set."""
    found: set[str] = set()
    for top in nodes:
        for node in _inner(top):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update((a.asname or a.name).split(".")[0] for a in node.names)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                found.add(node.name)
    return frozenset(found) - _comprehension_names(nodes)


def places(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Return the attributes and elements that statements set, with the variables that hold them.

    They are written as in the program: "self.x", "found['a']".
    """
    found: dict[str, str] = {}
    for top in nodes:
        for node in _inner(top):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
                root = _root(node)
                if root is not None:
                    found[ast.unparse(node)] = root
    return found


def _root(node: ast.expr) -> str | None:
    """Return the variable of a place, or None if the place is computed."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return None
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        node = node.value
    return node.id


def _comprehension_names(nodes: Sequence[ast.AST]) -> Names:
    """Return the variables that only comprehensions set. They are no variables of the function."""
    inside: set[str] = set()
    outside: set[str] = set()

    def visit(node: ast.AST, within: bool) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            (inside if within else outside).add(node.id)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _functions):
                visit(child, isinstance(node, ast.comprehension) and child is node.target)

    for node in nodes:
        visit(node, False)
    return frozenset(inside - outside)


def declared(body: Sequence[ast.stmt]) -> Names:
    """Return the variables that a function declares as global or nonlocal."""
    found: set[str] = set()
    for top in body:
        for node in _inner(top):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
    return frozenset(found)


def always_live(body: Sequence[ast.stmt]) -> Names:
    """Return the variables that functions in a function read, or that others see."""
    found: set[str] = set(declared(body))
    for top in body:
        for node in _inner(top):
            if isinstance(node, (*_functions, ast.ClassDef)):
                found |= reads(node)
    return frozenset(found)


def before(stmts: Sequence[ast.stmt], after: Names, loop: Loop | None = None) -> Names:
    """Return the variables that are read from some statements on, before they are set.

    Args:
      stmts: the statements.
      after: what is read after them.
      loop: the loop that they are in.
    """
    live = after
    for stmt in reversed(stmts):
        live = _before(stmt, live, loop)
    return live


def _before(stmt: ast.stmt, after: Names, loop: Loop | None) -> Names:
    if isinstance(stmt, ast.If):
        both = before(stmt.body, after, loop) | before(stmt.orelse, after, loop)
        return both | reads(stmt.test)
    if isinstance(stmt, (ast.For, ast.AsyncFor, ast.While)):
        inner = loop_live(stmt, after, loop)
        first = reads(stmt.iter) if not isinstance(stmt, ast.While) else NONE
        return inner.again | before(stmt.orelse, after, loop) | first
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        return before(stmt.body, after, loop) | frozenset().union(*map(reads, stmt.items))
    if isinstance(stmt, ast.Return):
        return reads(stmt.value)
    if isinstance(stmt, ast.Raise):
        return reads(stmt)
    if isinstance(stmt, ast.Break):
        return loop.after if loop else after
    if isinstance(stmt, ast.Continue):
        return loop.again if loop else after
    if isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None:
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        return after - stores(targets) | reads(stmt.value) | frozenset().union(*map(reads, targets))
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
        return after | reads(stmt.value) | {stmt.target.id}
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return after - {stmt.name} | reads(stmt)
    return after | reads(stmt)


def loop_live(stmt: ast.For | ast.AsyncFor | ast.While, after: Names, loop: Loop | None) -> Loop:
    """Return what is read in and after a loop."""
    out = before(stmt.orelse, after, loop) | after
    again = out
    targets = NONE
    if isinstance(stmt, ast.While):
        again = again | reads(stmt.test)
    else:
        targets = stores([stmt.target])
    while True:
        more = again | (before(stmt.body, again, Loop(out, again)) - targets)
        if more == again:
            return Loop(out, again)
        again = more
