"""Functions of values, element by element. Operands are values, numbers and arrays."""

from __future__ import annotations

from typing import Any

from bivouac._dynamic.arithmetic import apply as _apply

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clamp",
    "cos", "cosh", "exp", "fabs", "floor", "fpow", "log", "log10", "log2", "max", "min", "pow",
    "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip


def sqrt(input: Any) -> Any:
    """Return the square root."""
    return _apply("sqrt", input)


def rsqrt(input: Any) -> Any:
    """Return 1 / sqrt(input)."""
    return _apply("rsqrt", input)


def cbrt(input: Any) -> Any:
    """Return the cube root."""
    return _apply("cbrt", input)


def exp(input: Any) -> Any:
    """Return e to the power of the input."""
    return _apply("exp", input)


def log(input: Any) -> Any:
    """Return the natural logarithm."""
    return _apply("log", input)


def log2(input: Any) -> Any:
    """Return the logarithm to base 2."""
    return _apply("log2", input)


def log10(input: Any) -> Any:
    """Return the logarithm to base 10."""
    return _apply("log10", input)


def abs(input: Any) -> Any:
    """Return the absolute value, in the type of the input."""
    return _apply("abs", input)


def fabs(input: Any) -> Any:
    """Return the absolute value, as a float."""
    return _apply("fabs", input)


def floor(input: Any) -> Any:
    """Return the largest integer that is not greater, in the type of the input."""
    return _apply("floor", input)


def ceil(input: Any) -> Any:
    """Return the least integer that is not less, in the type of the input."""
    return _apply("ceil", input)


def sin(input: Any) -> Any:
    """Return the sine."""
    return _apply("sin", input)


def cos(input: Any) -> Any:
    """Return the cosine."""
    return _apply("cos", input)


def tan(input: Any) -> Any:
    """Return the tangent."""
    return _apply("tan", input)


def asin(input: Any) -> Any:
    """Return the arc sine."""
    return _apply("asin", input)


def acos(input: Any) -> Any:
    """Return the arc cosine."""
    return _apply("acos", input)


def atan(input: Any) -> Any:
    """Return the arc tangent."""
    return _apply("atan", input)


def sinh(input: Any) -> Any:
    """Return the hyperbolic sine."""
    return _apply("sinh", input)


def cosh(input: Any) -> Any:
    """Return the hyperbolic cosine."""
    return _apply("cosh", input)


def tanh(input: Any) -> Any:
    """Return the hyperbolic tangent."""
    return _apply("tanh", input)


def asinh(input: Any) -> Any:
    """Return the inverse hyperbolic sine."""
    return _apply("asinh", input)


def acosh(input: Any) -> Any:
    """Return the inverse hyperbolic cosine."""
    return _apply("acosh", input)


def atanh(input: Any) -> Any:
    """Return the inverse hyperbolic tangent."""
    return _apply("atanh", input)


def min(left: Any, right: Any) -> Any:
    """Return the smaller operand."""
    return _apply("min", left, right)


def max(left: Any, right: Any) -> Any:
    """Return the greater operand."""
    return _apply("max", left, right)


def pow(base: Any, exponent: Any) -> Any:
    """Return base ** exponent, in the promoted type."""
    return _apply("pow", base, exponent)


def fpow(base: Any, exponent: Any) -> Any:
    """Return base ** exponent, as a float."""
    return _apply("fpow", base, exponent)


def atan2(x: Any, y: Any) -> Any:
    """Return the angle of a point: x is the sine times the radius, y the cosine times it."""
    return _apply("atan2", x, y)


def clamp(value: Any, lo: Any, hi: Any) -> Any:
    """Return the value, or the bound that it is beyond."""
    return _apply("clamp", value, lo, hi)
