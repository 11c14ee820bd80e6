"""The operators of Python, for Tensor and Batch."""

from __future__ import annotations

from typing import Any

__all__ = ["Operands"]


def _first(name: str, *operands: Any) -> Any:
    """Import the module that computes, which puts its function in the place of this one."""
    from bivouac._dynamic import arithmetic

    return arithmetic.apply(name, *operands)


_apply: Any = _first


class Operands:
    """An Operands computes element by element. Shapes are broadcast."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _apply("mul", other, self)

    def __pow__(self, other: Any) -> Any:
        return _apply("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _apply("pow", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _apply("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _apply("fdiv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _apply("div", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _apply("div", other, self)

    def __mod__(self, other: Any) -> Any:
        return _apply("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _apply("mod", other, self)

    def __and__(self, other: Any) -> Any:
        return _apply("bitand", self, other)

    def __rand__(self, other: Any) -> Any:
        return _apply("bitand", other, self)

    def __or__(self, other: Any) -> Any:
        return _apply("bitor", self, other)

    def __ror__(self, other: Any) -> Any:
        return _apply("bitor", other, self)

    def __xor__(self, other: Any) -> Any:
        return _apply("bitxor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _apply("bitxor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _apply("lshift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _apply("lshift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _apply("rshift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _apply("rshift", other, self)

    def __eq__(self, other: Any) -> Any:
        return _apply("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return _apply("neq", self, other)

    def __lt__(self, other: Any) -> Any:
        return _apply("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _apply("leq", self, other)

    def __gt__(self, other: Any) -> Any:
        return _apply("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _apply("geq", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return _apply("minus", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _apply("abs", self)

    def __invert__(self) -> Any:
        return _apply("bitnot", self)
