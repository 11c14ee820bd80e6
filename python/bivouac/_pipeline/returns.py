"""Returns in branches, moved to the end of a function."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from bivouac._pipeline.branches import DONE, RETURN

__all__ = ["jumps", "lowered"]

_functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def lowered(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the body of a function in which branches set a variable in place of a return.

    What follows an `if` with a branch that returns becomes a part of its other branch. An `if` with
    a return somewhere in both of its branches, which both may also go on, stays as it is.
    """
    block = _sunk(body)
    if not _set(block):
        return list(body)
    begin = ast.parse(f"{DONE} = False\n{RETURN} = _bivouac.UNBOUND").body
    end = ast.parse(f"return _bivouac.result({DONE}, {RETURN})").body
    for stmt, at in [*((stmt, body[0]) for stmt in begin), (end[0], body[-1])]:
        for node in ast.walk(stmt):
            if hasattr(node, "lineno"):
                ast.copy_location(node, at)
    first = 1 if _is_text(body[0]) else 0
    return [*block[:first], *begin, *block[first:], *end]


def _is_text(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _returns(stmt: ast.stmt) -> bool:
    """Report whether an `if` has a return, maybe in an `if` in it."""
    if isinstance(stmt, ast.Return):
        return True
    return isinstance(stmt, ast.If) and any(map(_returns, [*stmt.body, *stmt.orelse]))


def _goes_on(block: Sequence[ast.stmt]) -> bool:
    """Report whether control may reach the end of a block."""
    if not block:
        return True
    last = block[-1]
    if isinstance(last, ast.If):
        return _goes_on(last.body) or _goes_on(last.orelse)
    return not isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue))


def _sunk(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Move what follows an `if` that returns into its branch that goes on."""
    for i, stmt in enumerate(block):
        if not isinstance(stmt, ast.If) or not _returns(stmt):
            continue
        rest = list(block[i + 1 :])
        where, others = _goes_on(stmt.body), _goes_on(stmt.orelse)
        if where and others:
            return list(block)
        made = ast.copy_location(
            ast.If(
                stmt.test,
                _sunk([*stmt.body, *(rest if where else [])]),
                _sunk([*stmt.orelse, *(rest if others else [])]),
            ),
            stmt,
        )
        return [*block[:i], made]
    return list(block)


def _set(block: list[ast.stmt], within: bool = False) -> bool:
    """Make the returns at the end of a block set the variable. Report whether a branch does."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If) and _returns(last):
        if _goes_on(last.body) and _goes_on(last.orelse):
            return False
        found = [_set(last.body, True), _set(last.orelse, True)]
        return any(found)
    if isinstance(last, ast.Return) and within:
        values = {DONE: ast.Constant(True), RETURN: last.value or ast.Constant(None)}
        made = [ast.Assign([ast.Name(k, ast.Store())], v) for k, v in values.items()]
        for stmt in made:
            for node in (stmt, stmt.targets[0], stmt.value):
                if not hasattr(node, "lineno"):
                    ast.copy_location(node, last)
        block[-1:] = made
        return True
    return False


def jumps(block: Sequence[ast.stmt]) -> str:
    """Return which statement of a branch leaves it, or ""."""
    for stmt in block:
        found = _jump(stmt, False)
        if found:
            return found
    return ""


def _jump(node: ast.AST, in_loop: bool) -> str:
    if isinstance(node, ast.Return):
        return "a return"
    if isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
        return "a break" if isinstance(node, ast.Break) else "a continue"
    if isinstance(node, _functions):
        return ""
    loop = in_loop or isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    for child in ast.iter_child_nodes(node):
        found = _jump(child, loop)
        if found:
            return found
    return ""
