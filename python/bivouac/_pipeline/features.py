"""Features: the fields of the records of a TFRecord file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Union

from bivouac._pipeline import message
from bivouac._pipeline.refusals import BrokenGraph, WrongType

__all__ = ["Feature", "FeatureType", "FixedLenFeature", "VarLenFeature", "encode"]

Default = Union[int, float, str, bytes]


@dataclasses.dataclass(frozen=True)
class FeatureType:
    """A FeatureType is the type of a feature's values."""

    name: str
    number: int


int64 = FeatureType("int64", 0)
string = FeatureType("string", 1)
float32 = FeatureType("float32", 2)


@dataclasses.dataclass(frozen=True)
class Feature:
    """A Feature is a field of a record. FixedLenFeature and VarLenFeature make one.

    Attributes:
      fixed: all records have values for exactly the shape.
      default: the value of records that lack the field.
    """

    type: FeatureType
    default: Default
    shape: tuple[int, ...] = ()
    fixed: bool = False


def FixedLenFeature(shape: int | Sequence[int], type: FeatureType, default: Default) -> Feature:
    """Return a feature that has values for the same shape in all records."""
    extent = (shape,) if isinstance(shape, int) else tuple(shape)
    return _checked(Feature(type, default, extent, True))


def VarLenFeature(*args: Any) -> Feature:
    """Return a feature with any number of values.

    The arguments are the type and the default. The extents of the shape after the first may go
    before them.
    """
    if len(args) not in (2, 3):
        raise WrongType(
            subject="VarLenFeature", want="type and default", got=f"{len(args)} arguments"
        )
    shape = () if len(args) == 2 else args[0]
    extent = (shape,) if isinstance(shape, int) else tuple(shape)
    return _checked(Feature(args[-2], args[-1], extent))


def _checked(feature: Feature) -> Feature:
    if not isinstance(feature.type, FeatureType):
        raise WrongType(
            subject="type of a feature",
            want="int64, string or float32 of bivouac.tfrecord",
            got=repr(feature.type),
        )
    text = isinstance(feature.default, (str, bytes))
    if text != (feature.type is string):
        raise WrongType(
            subject="default of a feature", want=feature.type.name, got=repr(feature.default)
        )
    return feature


def encode(name: str, features: Any) -> message.Argument:
    """Return the argument of features."""
    many = features if isinstance(features, (list, tuple)) else [features]
    elements = []
    if not many:
        raise BrokenGraph(subject="features of a TFRecord", want="at least one feature", got="none")
    for i, feature in enumerate(many):
        if not isinstance(feature, Feature):
            raise WrongType(
                subject=f"feature {i}",
                want="a FixedLenFeature or VarLenFeature of bivouac.tfrecord",
                got=repr(feature),
            )
        elements.append(message.Argument(f"element {i}", "TFRecord", elements=_fields(feature)))
    return message.Argument(name, "TFRecord", elements=elements, several=True)


def _fields(feature: Feature) -> list[message.Argument]:
    shape = tuple(int(n) for n in feature.shape)
    default: message.Value
    if feature.type is string:
        given = feature.default
        text = given.decode("utf-8", "surrogateescape") if isinstance(given, bytes) else given
        default, kind = str(text), "string"
    elif feature.type is int64:
        default, kind = int(feature.default), "int64"
    else:
        default, kind = float(feature.default), "float"
    return [
        message.argument("type", "int64", feature.type.number),
        message.argument("has_shape", "bool", feature.fixed),
        message.Argument("shape", "int64" if shape else "", shape),
        message.argument("default_value", kind, default),
    ]
