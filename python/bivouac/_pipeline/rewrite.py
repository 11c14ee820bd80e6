"""Functions that define graphs, rewritten so that their conditions may be nodes.

`if`, `and`, `or`, `not` and chains of comparisons become calls of `branches`. A function that is
called is rewritten too. The rest of a function stays as it is, with its lines.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import bivouac
from bivouac._pipeline import branches, liveness, returns
from bivouac._pipeline.conditions import current
from bivouac._pipeline.liveness import NONE, Loop, Names

__all__ = ["MARK", "always", "converted"]

_F = TypeVar("_F", bound=Callable[..., Any])

MARK = "_bivouac_unconverted"
"""The attribute of functions that stay as they are."""

_RUNTIME = "_bivouac"

_REWRITTEN = "_bivouac_rewritten"
"""The name of a function where it is compiled. Its own name there would hide a global one."""

_left = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
"""Functions that look at the frame that calls them."""

_missing = "(NameError, AttributeError, LookupError)"
"""What reading a variable or a place without a value raises."""

_others = ("numpy", "torch", "jax", "pytest", "_pytest")
"""Packages whose functions take no nodes."""

_library = tuple(
    str(Path(path).resolve())
    for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)
_package = str(Path(bivouac.__file__).resolve().parent)
_of_graphs = str(Path(_package, "auto_aug"))
"""The part of this package whose functions have conditions that are nodes."""


def converted(function: Any) -> Any:
    """Return a function whose conditions may be nodes, or the function itself."""
    if isinstance(function, types.MethodType):
        own = function.__func__
        inner = converted(own)
        return function if inner is own else types.MethodType(inner, function.__self__)
    if isinstance(function, types.FunctionType):
        return _convert(function)
    if type(function) is functools.partial:
        inner = converted(function.func)
        if inner is function.func:
            return function
        return functools.partial(inner, *function.args, **function.keywords)
    call = getattr(type(function), "__call__", None)
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        inner = _convert(call)
        return function if inner is call else types.MethodType(inner, function)
    return function


def call(function: Any) -> Any:
    """Return the function that a rewritten function calls."""
    return function if current() is None else converted(function)


def always(function: _F) -> _F:
    """Make a function of this package one whose conditions may be nodes, whoever calls it.

    A function of another library is not rewritten, so its calls are not either. Nor is a lambda
    with another one on its line that has the same arguments.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(function)(*args, **kwargs)

    return cast(_F, wrapper)


class _Runtime:
    """What rewritten functions see as `_bivouac`."""

    UNBOUND = branches.UNBOUND
    and_ = staticmethod(branches.and_)
    call = staticmethod(call)
    condition = staticmethod(branches.condition)
    cut = staticmethod(branches.cut)
    depth = staticmethod(branches.depth)
    not_ = staticmethod(branches.not_)
    or_ = staticmethod(branches.or_)
    read = staticmethod(branches.read)
    result = staticmethod(branches.result)


def _convert(function: types.FunctionType) -> Any:
    code = function.__code__
    flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code in _made or getattr(function, MARK, False) or code.co_flags & flags:
        return function
    if not _is_of_program(function):
        return function
    found = _code(code, function.__qualname__)
    if found is None:
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[_RUNTIME] = types.CellType(_Runtime)
    closure = tuple(cells[name] for name in found.co_freevars)
    made = types.FunctionType(
        found, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__dict__.update(function.__dict__)
    return made


def _is_of_program(function: types.FunctionType) -> bool:
    """Report whether a function belongs to the program, and not to Python or this package."""
    name = function.__code__.co_filename
    if name.startswith("<"):
        return False
    if (function.__module__ or "").split(".")[0] in _others:
        return False
    path = str(Path(name).resolve())
    if path.startswith(_package):
        return path.startswith(_of_graphs)
    return not path.startswith(_library) or "site-packages" in path


_made: set[types.CodeType] = set()
"""The code of functions that are rewritten."""


@functools.lru_cache(maxsize=None)
def _code(code: types.CodeType, qualname: str) -> types.CodeType | None:
    """Return the rewritten code of a function, or None if there is no source."""
    definition = _lambda(code) if code.co_name == "<lambda>" else _definition(code)
    if definition is None:
        return None
    parts = qualname.split(".")
    owner = parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""
    _Function(definition, owner).rewrite()
    definition.decorator_list = []
    definition.name = _REWRITTEN
    names = [*code.co_freevars, _RUNTIME]
    factory = ast.FunctionDef(
        name="factory",
        args=_arguments(names),
        body=[definition],
        decorator_list=[],
    )
    if sys.version_info >= (3, 12):
        factory.type_params = []
    module = ast.fix_missing_locations(ast.Module([factory], []))
    outer = compile(module, code.co_filename, "exec", dont_inherit=True)
    made = _constant(_constant(outer, "factory"), _REWRITTEN)
    made = made.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    _note(made)
    return made


def _definition(code: types.CodeType) -> ast.FunctionDef | None:
    """Return the definition of a function."""
    try:
        lines, first = inspect.getsourcelines(code)
        indented = lines[0][:1].isspace()
        tree = ast.parse("".join(["if True:\n", *lines] if indented else lines))
    except (OSError, TypeError, SyntaxError):
        return None
    body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
    definition = body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.name != code.co_name:
        return None
    ast.increment_lineno(definition, first - (2 if indented else 1))
    return definition


def _lambda(code: types.CodeType) -> ast.FunctionDef | None:
    """Return a lambda as the definition of a function, if its line and its arguments tell it."""
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    number = code.co_argcount + code.co_kwonlyargcount
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and [arg.arg for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
        == list(code.co_varnames[:number])
    ]
    if len(found) != 1:
        return None
    body = ast.copy_location(ast.Return(found[0].body), found[0].body)
    definition = ast.FunctionDef(
        name=code.co_name, args=found[0].args, body=[body], decorator_list=[]
    )
    if sys.version_info >= (3, 12):
        definition.type_params = []
    return ast.copy_location(definition, found[0])


def _arguments(names: Sequence[str]) -> ast.arguments:
    """Return the arguments of a function that takes some by position."""
    args = [ast.arg(name) for name in names]
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def _constant(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _note(code: types.CodeType) -> None:
    """Note that code and the functions in it are rewritten."""
    _made.add(code)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _note(inner)


class _Function:
    """A _Function is a function that is being rewritten."""

    def __init__(self, definition: ast.FunctionDef, owner: str) -> None:
        self.definition = definition
        self.owner = owner
        self.number = 0
        args = definition.args
        params = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        params += [a for a in (args.vararg, args.kwarg) if a is not None]
        outer = liveness.declared(definition.body)
        self.outer = outer - {a.arg for a in params}
        self.params = frozenset(a.arg for a in params)
        self.locals = {a.arg for a in params} | liveness.stores(definition.body) - outer

    def rewrite(self) -> None:
        """Rewrite the body, and functions in it."""
        definition = self.definition
        body = returns.lowered(definition.body)
        self.always = liveness.always_live(body)
        live = self.always
        made = self._block(body, live, None)
        definition.body = made
        definition.returns = None
        for arg in ast.walk(definition.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None

    # Statements.

    def _block(self, stmts: Sequence[ast.stmt], after: Names, loop: Loop | None) -> list[ast.stmt]:
        """Rewrite statements, from the last to the first."""
        made: list[ast.stmt] = []
        live = after
        for stmt in reversed(stmts):
            earlier = liveness.before([stmt], live, loop) | self.always
            made = self._statement(stmt, live, loop) + made
            live = earlier
        return made

    def _statement(self, stmt: ast.stmt, after: Names, loop: Loop | None) -> list[ast.stmt]:
        if isinstance(stmt, ast.FunctionDef):
            _Function(stmt, "").rewrite()
            stmt.decorator_list = [self._expression(d) for d in stmt.decorator_list]
            return [stmt]
        if isinstance(stmt, (ast.ClassDef, ast.AsyncFunctionDef)):
            return [stmt]
        if isinstance(stmt, ast.If):
            return self._if(stmt, after, loop)
        if isinstance(stmt, (ast.For, ast.While)):
            inner = liveness.loop_live(stmt, after, loop)
            stmt.body = self._block(stmt.body, inner.again, inner)
            stmt.orelse = self._block(stmt.orelse, after, loop)
            if isinstance(stmt, ast.For):
                stmt.iter = self._expression(stmt.iter)
            else:
                stmt.test = self._expression(stmt.test)
            return [stmt]
        if isinstance(stmt, ast.With):
            stmt.body = self._block(stmt.body, after, loop)
            stmt.items = [self._expression(item) for item in stmt.items]
            return [stmt]
        if isinstance(stmt, ast.Try):
            every = after | liveness.reads(stmt)
            self.number += 1
            depth = f"_bivouac_d{self.number}"
            stmt.body = self._block(stmt.body, every, loop)
            for handler in stmt.handlers:
                cut = self._parse(f"{_RUNTIME}.cut({depth})", stmt)
                handler.body = [*cut, *self._block(handler.body, every, loop)]
            stmt.orelse = self._block(stmt.orelse, every, loop)
            stmt.finalbody = self._block(stmt.finalbody, after, loop)
            return [*self._parse(f"{depth} = {_RUNTIME}.depth()", stmt), stmt]
        if not isinstance(stmt, ast.AugAssign) or not isinstance(stmt.target, ast.Name):
            return [self._expression(stmt)]
        # DALI reads the target first, and its operands when the operator is made.
        made = _Expressions(self, reads=False).visit(stmt)
        name = stmt.target.id
        if name not in self.locals:
            return [made]
        return [*self._parse(f"{name} = {_RUNTIME}.read({name})", stmt), made]

    def _if(self, stmt: ast.If, after: Names, loop: Loop | None) -> list[ast.stmt]:
        both = [*stmt.body, *stmt.orelse]
        plain = liveness.stores(both)
        places = liveness.places(both)
        names = sorted(plain | {place for place, root in places.items() if root not in plain})
        seen = after | self.outer | self.params
        live = tuple(n for n in names if n in after or n in self.outer or places.get(n) in seen)
        jumps = returns.jumps(both)
        body = self._block(stmt.body, after, loop)
        orelse = self._block(stmt.orelse, after, loop)
        self.number += 1
        c, b, a = (f"_bivouac_{letter}{self.number}" for letter in "cba")
        capture = "".join(
            f"    try:\n        {{0}}[{n!r}] = {n}\n"
            f"    except {_missing}:\n        {{0}}[{n!r}] = {_RUNTIME}.UNBOUND\n"
            for n in names
        )
        restore = "".join(
            f"    {n} = {{0}}[{n!r}]\n    if {{0}}[{n!r}] is {_RUNTIME}.UNBOUND:\n        del {n}\n"
            for n in names
        )
        text = (
            f"{c} = {_RUNTIME}.condition(None, {jumps!r})\n"
            f"if {c}.traced:\n    {b} = {{}}\n" + capture.format(b) + f"if {c}.where():\n    pass\n"
            f"if {c}.traced:\n    {a} = {{}}\n" + capture.format(a)
            + f"    {c}.between({b}, {a}, {live!r})\n" + restore.format(b)
            + f"if {c}.others():\n    pass\n"
            f"if {c}.traced:\n    {a} = {{}}\n" + capture.format(a)
            + f"    {a} = {c}.end({a}, {live!r})\n" + restore.format(a)
        )
        made = self._parse(text, stmt)
        begin, where, others = made[0], made[2], made[4]
        assert isinstance(begin, ast.Assign) and isinstance(begin.value, ast.Call)
        assert isinstance(where, ast.If) and isinstance(others, ast.If)
        begin.value.args[0] = self._expression(stmt.test)
        where.body, others.body = body or where.body, orelse or others.body
        return made

    def _parse(self, text: str, at: ast.stmt) -> list[ast.stmt]:
        """Return the statements of a text, on the line of another statement."""
        made = ast.parse(text).body
        for stmt in made:
            for node in ast.walk(stmt):
                if hasattr(node, "lineno"):
                    ast.copy_location(node, at)
        return made

    # Expressions.

    def _expression(self, node: Any) -> Any:
        return _Expressions(self).visit(node)


class _Expressions(ast.NodeTransformer):
    """_Expressions rewrites an expression, or a statement without statements in it."""

    def __init__(self, function: _Function, reads: bool = True) -> None:
        self.function = function
        self.reads = reads
        self.hidden: set[str] = set()  # variables of comprehensions and lambdas

    def _call(self, name: str, at: ast.AST, *args: ast.expr) -> ast.expr:
        runtime = ast.Attribute(ast.Name(_RUNTIME, ast.Load()), name, ast.Load())
        made = ast.Call(runtime, list(args), [])
        for node in ast.walk(made):
            if not hasattr(node, "lineno"):
                ast.copy_location(node, at)
        return made

    def _lazy(self, value: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Lambda(_arguments([]), value), value)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        local = node.id in self.function.locals and node.id not in self.hidden
        if not isinstance(node.ctx, ast.Load) or not local or not self.reads:
            return node
        return self._call("read", node, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr.startswith("__") and not node.attr.endswith("__") and self.function.owner:
            node.attr = f"_{self.function.owner.lstrip('_')}{node.attr}"
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in _left:
            return node
        self.generic_visit(node)
        node.func = self._call("call", node.func, node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.Await)) for n in ast.walk(node)):
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        right = node.values[-1]
        for left in reversed(node.values[:-1]):
            right = self._call(name, node, self._lazy(left), self._lazy(right))
        return right

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._call("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        made: ast.expr | None = None
        left = node.left
        for op, right in zip(node.ops, node.comparators):
            one: ast.expr = ast.copy_location(
                ast.Compare(copy.deepcopy(left), [op], [copy.deepcopy(right)]), node
            )
            made = one if made is None else self._call(
                "and_", node, self._lazy(made), self._lazy(one)
            )
            left = right
        assert made is not None
        return made

    def _scoped(self, node: Any, names: Names) -> ast.AST:
        """Visit an expression that has variables of its own."""
        before, self.hidden = self.hidden, self.hidden | names
        self.generic_visit(node)
        self.hidden = before
        return node  # type: ignore[no-any-return]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        names = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        return self._scoped(node, frozenset(names))

    def _comprehension(self, node: Any) -> ast.AST:
        targets = [generator.target for generator in node.generators]
        return self._scoped(node, liveness.stores(targets))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


