"""Arguments of operators: which ones there are, and their values as a message holds them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from bivouac._pipeline import constants, features, message
from bivouac._pipeline.enums import DALIDataType, DALIImageType, DALIInterpType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import UnknownArgument, WrongType, WrongValue, nearest
from bivouac._pipeline.schemas import Parameter, Schema

__all__ = ["INTERNAL", "check_input", "encode", "resolve", "separate"]

INTERNAL = ("_display_name", "_module")
"""Arguments that the client gives every operator."""

_unwritten = ("bytes_per_sample_hint", "max_batch_size", "num_threads")
"""Arguments that DALI does not write."""


def separate(kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split arguments into constants, and those whose value may differ per sample.

    An array is one of the latter: it becomes a constant node. None means that the argument is not
    given.
    """
    fixed: dict[str, Any] = {}
    fed: dict[str, Any] = {}
    for name, value in kwargs.items():
        if value is None:
            continue
        if name not in ("device", "ndim") and _is_fed(value):
            fed[name] = value
        else:
            scalar = isinstance(value, constants.ScalarConstant)
            fixed[name] = value.value if scalar else value
    return fixed, fed


def _is_fed(value: Any) -> bool:
    """Report whether a value is an input of an operator, or becomes one."""
    if isinstance(value, DataNode):
        return True
    if isinstance(value, (str, list, tuple, constants.ScalarConstant)):
        return False
    return not constants.is_scalar(value)


def resolve(schema: Schema, operator: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by their current names. Warn about old names and arguments without effect.

    Raises:
      WrongType: an argument is given by its old and its new name.
    """
    found = dict(kwargs)
    for name in kwargs:
        if name == "seed" and name not in schema.params:
            del found[name]
            _warn(f'The argument "seed" has no effect: `{operator}` draws no random numbers.')
            continue
        param = schema.params.get(name)
        if param is None or not param.deprecated:
            continue
        if param.renamed:
            if param.renamed in found:
                raise WrongType(
                    subject=f"argument {name} of {operator}",
                    want=f"only one of {name!r} and {param.renamed!r}",
                    got="both",
                    remedy=f"leave out {name}: it is the old name",
                )
            found[param.renamed] = found.pop(name)
            _warn(f"The argument `{name}` of `{operator}` is deprecated; use `{param.renamed}`.")
        else:
            if param.ignored:
                del found[name]
            _warn(f"The argument `{name}` of `{operator}` is deprecated: {param.deprecated}.")
    return found


def _warn(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn(text, DeprecationWarning, stacklevel=2)


def parameter(schema: Schema, operator: str, name: str) -> Parameter:
    """Return what the schema says of an argument.

    Raises:
      UnknownArgument: the operator does not have the argument.
    """
    found = schema.params.get(name)
    if found is None:
        raise UnknownArgument(
            subject=f"argument {name!r} of {operator}",
            got="an argument that the operator does not have",
            remedy=nearest(name, schema.params),
        )
    return found


def check_input(schema: Schema, operator: str, name: str) -> None:
    """Raise an error unless the argument may differ per sample."""
    param = parameter(schema, operator, name)
    if not param.sample:
        raise WrongType(
            subject=f"argument {name} of {operator}",
            want=f"a constant of type {_words[param.type]}",
            got="a DataNode or an array",
        )


def encode(schema: Schema, operator: str, kwargs: Mapping[str, Any]) -> list[message.Argument]:
    """Return the arguments as a message has them, in their order."""
    out = []
    for name, value in kwargs.items():
        if value is None:
            continue
        if name in INTERNAL:
            out.append(message.argument(name, "string", str(value)))
            continue
        if name == "_if_stmt":
            out.append(message.argument(name, "bool", bool(value)))
            continue
        if name == "feature_names" and "features" in schema.params:
            out.append(message.argument(name, "string", value))
            continue
        param = parameter(schema, operator, name)
        encoded = _encode(param, operator, value)
        if name not in _unwritten:
            out.append(encoded)
    return out


def _encode(param: Parameter, operator: str, value: Any) -> message.Argument:
    if param.type == "features":
        return features.encode(param.name, value)
    kind, convert = _kinds[param.type.removesuffix("s") if param.several else param.type]
    try:
        if param.several:
            many = value if isinstance(value, (list, tuple)) else _plain(value)
            many = many if isinstance(many, (list, tuple)) else [many]
            return message.argument(param.name, kind, [convert(_plain(v)) for v in many])
        if isinstance(value, (list, tuple)) and not value:
            raise TypeError("an empty list")
        return message.argument(param.name, kind, convert(_plain(value)))
    except (TypeError, ValueError, OverflowError) as err:
        wrong = WrongType if isinstance(err, TypeError) else WrongValue
        raise wrong(
            subject=f"argument {param.name} of {operator}",
            want=_words[param.type],
            got=_describe(value),
        ) from err


def _describe(value: Any) -> str:
    text = repr(value)
    if len(text) > 100:
        text = text[:97] + "..."
    return f"{text} of type {type(value).__name__}"


def _plain(value: Any) -> Any:
    """Return a number for an array of one element, and a list for another array."""
    if isinstance(value, constants.ScalarConstant):
        return value.value
    if hasattr(value, "item") and hasattr(value, "tolist"):
        return value.item() if getattr(value, "size", 1) == 1 else value.tolist()
    return value


def _integer(value: Any) -> int:
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("not an int64")
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, (str, bytes, DataNode)):
        raise TypeError("not a bool")
    return bool(value)


def _string(value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if not isinstance(value, str):
        raise TypeError("not a string")
    return str(value)


def _member(of: Callable[[int], Any]) -> Callable[[Any], int]:
    return lambda value: int(of(int(value)))


_kinds: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "bool": ("bool", _boolean),
    "int": ("int64", _integer),
    "float": ("float", float),
    "str": ("string", _string),
    "dtype": ("int64", _member(DALIDataType)),
    "image": ("int64", _member(DALIImageType)),
    "interp": ("int64", _member(DALIInterpType)),
}

_words = {
    "bool": "a bool",
    "bools": "a bool or a list of bool",
    "int": "an int",
    "ints": "an int or a list of int",
    "float": "a float",
    "floats": "a float or a list of float",
    "str": "a str",
    "strs": "a str or a list of str",
    "dtype": "a DALIDataType",
    "dtypes": "a DALIDataType or a list of them",
    "image": "a DALIImageType",
    "interp": "a DALIInterpType",
    "features": "features of bivouac.tfrecord",
}
