"""The pipelines of the case `graph`: programs of DALI, with the import changed."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import bivouac as dali
import bivouac.math as dmath
from bivouac import fn, pipeline_def, types

GRAPHS: dict[str, Callable[[], Any]] = {}

SETTINGS: dict[str, Any] = {"batch_size": 3, "num_threads": 1, "device_id": None, "seed": 1234}


def graph(**settings: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that defines a graph, with settings of its pipeline."""

    def add(function: Callable[[], Any]) -> Callable[[], Any]:
        GRAPHS[function.__name__] = pipeline_def(**{**SETTINGS, **settings})(function)
        return function

    return add


def reader(**options: Any) -> Any:
    """Read five photos of the current directory."""
    photos = [name for name in os.listdir(".") if name.startswith("j4") and name.endswith(".jpg")]
    return fn.readers.file(name="Reader", file_root=".", files=sorted(photos)[:5], **options)


@graph()
def g01_constant() -> Any:
    return types.Constant(3), types.Constant([1.5, 2.5])


@graph()
def g02_reader() -> Any:
    jpegs, labels = reader(random_shuffle=True, initial_fill=3)
    return jpegs, labels


@graph()
def g03_train() -> Any:
    jpegs, labels = reader()
    x = fn.decoders.image(jpegs)
    x = fn.random_resized_crop(x, size=[12, 14])
    x = fn.crop_mirror_normalize(
        x, dtype=types.FLOAT, mean=[128.0], std=[64.0], mirror=fn.random.coin_flip()
    )
    return x, labels


@graph()
def g04_arith() -> Any:
    a = fn.random.uniform(range=[0.0, 1.0], shape=[3])
    b = fn.random.coin_flip(dtype=types.INT32)
    return (a * 2 + b) / 3 - 1.5, dmath.sqrt(a), (b > 0) & types.Constant(True), -b


@graph(enable_conditionals=True)
def g05_conditional() -> Any:
    x = fn.random.uniform(range=[0.0, 1.0])
    if x > 0.5:
        y = fn.random.uniform(range=[10.0, 20.0])
    else:
        y = -x
    return x, y


@graph(enable_conditionals=True)
def g06_conditional_nested() -> Any:
    x = fn.random.uniform(range=[0.0, 1.0])
    b = fn.random.coin_flip(dtype=types.BOOL)
    if b and not (x > 0.8):
        y = x + 1
    elif x > 0.5 or b:
        y = x + 2
    else:
        y = x + 3
    return x, b, y


@graph()
def g07_external() -> Any:
    return (
        fn.external_source(name="input", dtype=types.INT32, ndim=1, layout="X"),
        fn.random.normal(),
    )


@graph()
def g08_multi_output() -> Any:
    jpegs, labels = reader(shard_id=1, num_shards=2, pad_last_batch=True)
    shape = fn.peek_image_shape(jpegs)
    boxes = types.Constant(np.float32([[0.1, 0.1, 0.5, 0.5]]))
    a, s = fn.random_bbox_crop(boxes, thresholds=[0.1, 0.5], name="rbc")[:2]
    return shape, labels, a, s


@graph()
def g09_argument_inputs() -> Any:
    x = types.Constant(np.arange(60, dtype=np.uint8).reshape(4, 5, 3))
    a = fn.random.uniform(range=[0.5, 1.5])
    # The order of the calls is the order of the recorded operators.
    return fn.brightness_contrast(
        fn.reshape(x, layout="HWC"), brightness=a, contrast=1.2
    ), fn.resize(
        fn.reshape(x, layout="HWC"),
        size=fn.cast(fn.random.uniform(range=[3.0, 8.0], shape=[2]), dtype=types.FLOAT),
    )


@graph()
def g10_subscript_layout() -> Any:
    x = fn.random.uniform(range=[0.0, 1.0], shape=[4, 5])
    return (
        x[1:3, ::-1],
        x[0],
        fn.reshape(x, layout="AB"),
        fn.transpose(x, perm=[1, 0]),
        x[:, dali.newaxis, 2],
    )


@graph(prefetch_queue_depth=3, enable_checkpointing=True, exec_dynamic=False)
def g11_options() -> Any:
    return (
        fn.random.normal(mean=1.0, stddev=2.0, shape=[2], dtype=types.FLOAT64),
        fn.batch_permutation(),
        fn.random.choice(4, p=[0.1, 0.2, 0.3, 0.4]),
    )


@graph(exec_pipelined=False, exec_async=False)
def g12_simple_executor() -> Any:
    x = fn.random.uniform(range=[0.0, 1.0], seed=77, name="fixed_seed")
    return (
        fn.cast(x * 100, dtype=types.UINT8),
        fn.cat(fn.stack(x, x), fn.stack(x, x + 1), axis=0),
    )


@graph()
def g13_transforms() -> Any:
    angle = fn.random.uniform(range=[-30.0, 30.0])
    m = fn.transforms.combine(
        fn.transforms.rotation(angle=angle), fn.transforms.translation(offset=[1.0, 2.0])
    )
    points = types.Constant(np.float32([[1, 2], [3, 4]]))
    return m, fn.coord_transform(points, MT=m)


@graph()
def g14_cse() -> Any:
    x = fn.random.uniform(range=[0.0, 1.0], shape=[2], seed=5)
    return (
        fn.cast(x * 4, dtype=types.INT32),
        fn.cast(x * 4, dtype=types.INT32),
        fn.reductions.sum(x),
        fn.one_hot(fn.cast(x * 4, dtype=types.INT32), num_classes=4),
    )


# The recorded bytes also have the lines of the program that was recorded. They are left out.

_OPERATOR, _ARGUMENT, _NAME = 5, 4, 1


def without_lines(serialized: bytes) -> bytes:
    """Return a serialized pipeline without the lines that define its operators."""
    out = b""
    for field, raw, value in _fields(serialized):
        if field == _OPERATOR:
            value = b"".join(
                inner
                for number, inner, content in _fields(value)
                if number != _ARGUMENT or not _name(content).startswith(b"_origin_stack_")
            )
            raw = _number(field << 3 | 2) + _number(len(value)) + value
        out += raw
    return out


def _name(argument: bytes) -> bytes:
    return next(value for field, _, value in _fields(argument) if field == _NAME)


def _fields(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the fields of a message of Protocol Buffers: number, all its bytes, and its value."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        if tag & 7 == 2:
            size, at = _varint(data, at)
        elif tag & 7 == 0:
            before = at
            _, at = _varint(data, at)
            size, at = at - before, before
        else:
            size = {1: 8, 5: 4}[tag & 7]
        yield tag >> 3, data[start : at + size], data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def _number(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def main() -> None:
    """Write the serialized graphs, in the order in which they were recorded."""
    made = {name: base64.b64encode(make().serialize()).decode() for name, make in GRAPHS.items()}
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
