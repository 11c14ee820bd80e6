"""Graphs that programs of DALI build. `graphs` builds them with a package: Bivouac, or DALI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Outputs = Any
_graphs: list[tuple[Callable[[Any], Outputs], dict[str, Any]]] = []


def graph(**settings: Any) -> Callable[[Callable[[Any], Outputs]], Callable[[Any], Outputs]]:
    """Add a function that defines a graph, with settings of the pipeline."""

    def add(function: Callable[[Any], Outputs]) -> Callable[[Any], Outputs]:
        _graphs.append((function, {"batch_size": 3, "num_threads": 1, "seed": 7, **settings}))
        return function

    return add


def graphs(package: Any) -> dict[str, bytes]:
    """Return the serialized pipeline of each graph."""
    out = {}
    for function, settings in _graphs:
        settings = {k: v(package) if callable(v) else v for k, v in settings.items()}
        out[function.__name__] = package.pipeline_def(**settings)(function)(package).serialize()
    out["subclass"] = subclass(package)
    out["current"] = current(package)
    return out


@graph()
def training(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    jpegs, labels = fn.readers.file(
        name="Reader", file_root="x", random_shuffle=True, num_shards=2, pad_last_batch=True
    )
    images = fn.decoders.image_random_crop(
        jpegs, output_type=types.RGB, random_area=[0.1, 1.0], num_attempts=100
    )
    images = fn.resize(
        images, resize_x=224, resize_y=224, interp_type=types.INTERP_TRIANGULAR
    )
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(224, 224),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=fn.random.coin_flip(probability=0.5),
    )
    return images, labels


@graph()
def arithmetic(p: Any) -> Outputs:
    fn, types, m = p.fn, p.types, p.math
    x = fn.random.uniform(range=(0.0, 1.0), shape=[3])
    y = fn.cast(x * 10, dtype=types.INT32)
    signs = [
        x + 1, 1 - x, x * 2.5, x / 3, 3 / x, y // 2, 7 // y, y % 3, 9 % y, -y, +x, abs(y),
        x**2, 2**x, y & 3, 3 & y, y | 1, 1 | y, y ^ y, 5 ^ y, ~y, y << 2, y >> 1, 1 << y, 64 >> y,
        x == y, x != 1, x < 1, x <= y, x > 0.5, x >= y, x + True,
    ]  # fmt: skip
    constants = [
        x * np.array([1.0, 2.0, 3.0], np.float32), y + np.int16(3), y + types.Constant(3).uint8(),
        y + types.Constant(2.5).float64(), y * types.Constant(True), x - np.float32(1),
    ]  # fmt: skip
    functions = [
        m.clamp(x, 0, 1.5), m.min(x, y), m.max(3, y), m.pow(x, 2), m.fpow(x, y), m.atan2(x, y),
        m.abs(y), m.fabs(y), m.sqrt(x), m.rsqrt(x), m.cbrt(x), m.exp(x), m.log(x), m.log2(x),
        m.log10(x), m.floor(x), m.ceil(x), m.sin(x), m.cos(x), m.tan(x), m.asin(x), m.acos(x),
        m.atan(x), m.sinh(x), m.cosh(x), m.tanh(x), m.asinh(x), m.acosh(x), m.atanh(x),
    ]  # fmt: skip
    return tuple(signs + constants + functions)


@graph()
def indices(p: Any) -> Outputs:
    fn, types, new = p.fn, p.types, p.newaxis
    x = fn.random.uniform(range=(0, 1), shape=[3, 4, 5])
    i = fn.random.uniform(range=(0, 2), dtype=types.INT32)
    return (
        x[0], x[-1, 1:], x[:, ::2], x[1:2, :, i], x[i:], x[None, 1], x[new], x[:, new],
        x[new("F"), 0], x[:], x[:, :], x[::-1], x[np.int64(1)], x[0, new, :, new],
        x[new("A"), :, new("B")], x.shape(), x.shape(dtype=types.FLOAT), x.property("layout"),
        x.source_info(),
    )  # fmt: skip


@graph()
def constants(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    x = fn.constant(fdata=[1.0, 2.0], shape=[2])
    zeros = fn.zeros(shape=[3, 3, 1], dtype=types.UINT8)
    return (
        fn.cat(x, np.array([3.0, 4.0])),
        fn.stack(x, types.Constant([1, 2], dtype=types.FLOAT)),
        types.Constant(3, shape=[2, 2]),
        types.Constant(np.ones((2, 2), np.uint8), layout="HW"),
        types.Constant(types.RGB),
        types.Constant([True, False]),
        types.Constant([1, 2.5]),
        types.Constant(np.arange(3)),
        fn.cast(3, dtype=types.FLOAT16),
        fn.full(5, shape=[3]),
        fn.reshape(x, shape=np.array([1, 2])),
        fn.rotate(zeros, angle=np.float32(3)),
        fn.cast_like(1.5, x),
        fn.resize(zeros, size=[4, np.int64(5)], bytes_per_sample_hint=3),
    )


@graph()
def several_outputs(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    files, _ = fn.readers.file(files=["a", "b"], labels=[0, 1])
    boxes = fn.random.uniform(range=(0, 1), shape=[2, 4])
    return (
        *fn.decoders.audio(files, dtype=types.FLOAT),
        *fn.resize(fn.decoders.image(files), size=3, save_attrs=True),
        *fn.random_bbox_crop(boxes, thresholds=[0, 0.5], bbox_layout="xyXY"),
        *fn.element_extract(boxes, element_map=[0, 1]),
        *fn.readers.coco(
            file_root="a", annotations_file="b", polygon_masks=True, image_ids=True
        ),
        *fn.readers.webdataset(paths="a", ext=["jpg", "cls"]),
        fn.readers.caffe(path="x", label_available=False),
    )


@graph()
def on_gpu(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    files, labels = fn.readers.file(files=["a"])
    images = fn.resize(fn.decoders.image(files, device="mixed"), size=[3, 4])
    flip = fn.random.coin_flip()
    return (
        fn.crop_mirror_normalize(images, mirror=flip, device="gpu"),
        labels.gpu(),
        images + 1,
        images * fn.cast(labels, dtype=types.INT32).gpu(),
        fn.flip(images, horizontal=flip),
        images.cpu(),
        images[0],
        fn.cat(images, 3),
    )


@graph()
def external(p: Any) -> Outputs:
    fn, types, ops = p.fn, p.types, p.ops
    several = fn.external_source(
        source=lambda i: (1, 2),
        num_outputs=2,
        batch=False,
        parallel=True,
        layout=["A"],
        ndim=1,
        dtype=[types.INT8],
    )
    return (
        fn.external_source(name="a", layout="HWC", dtype=types.UINT8, ndim=3, repeat_last=True),
        *several,
        fn.external_source(source=[1], cycle=True, blocking=False, no_copy=True),
        ops.ExternalSource(layout="HW", name="e")(),
        *ops.ExternalSource(source=lambda: 1, num_outputs=2)(),
        ops.ExternalSource()(name="g"),
    )


@graph()
def classes(p: Any) -> Outputs:
    types, ops = p.types, p.ops
    files, labels = ops.readers.File(files=["a"], name="R", seed=3)()
    images = ops.decoders.Image(output_type=types.GRAY)(files)
    uniform = ops.random.Uniform(range=(0, 1))
    first, second = uniform(), uniform()
    x, y = ops.Resize(size=[3, 4])([images, images])
    resized, sizes = ops.Resize(size=3, save_attrs=True)([images, images])
    rotated = ops.Compose([ops.Rotate(angle=3), ops.Compose([ops.Flip(), ops.Flip(device="gpu")])])
    return (
        labels, first, second, x, y, *resized, *sizes, *ops.Cat()([x, y], [y, x]),
        ops.CropMirrorNormalize(mirror=first)(images, dtype=types.FLOAT),
        rotated(images, keep_size=True),
    )  # fmt: skip


@graph()
def old_names(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    files, _ = fn.file_reader(files=["a"])
    images = fn.image_decoder(files)
    feature = p.tfrecord.FixedLenFeature([], p.tfrecord.int64, 3)
    return (
        fn.crop(images, output_dtype=types.FLOAT, image_type=types.RGB),
        fn.uniform(range=(0, 1)),
        fn.coin_flip(seed=3),
        fn.resize(images, size=3, seed=3),
        fn.shapes(images, type=types.INT32),
        fn.tfrecord_reader(path="a", index_path="b", features={"x": feature})["x"],
    )


@graph()
def records(p: Any) -> Outputs:
    tf = p.tfrecord
    features = {
        "x": tf.FixedLenFeature((2,), tf.float32, 0.5),
        "y": tf.VarLenFeature(tf.int64, -1),
        "z": tf.FixedLenFeature((), tf.string, ""),
    }
    found = p.fn.readers.tfrecord(path=["a", "b"], index_path=["c", "d"], features=features)
    return found["z"], found["x"], found["y"]


@graph()
def speech(p: Any) -> Outputs:
    fn = p.fn
    files, labels = fn.readers.file(files=["a.wav"])
    sound, rate = fn.decoders.audio(files, downmix=True, sample_rate=16000)
    begin, length = fn.nonsilent_region(sound, cutoff_db=-60)
    sound = fn.preemphasis_filter(fn.slice(sound, begin, length, axes=[0]))
    power = fn.spectrogram(sound, nfft=512, window_length=320, window_step=160)
    mel = fn.mel_filter_bank(power, sample_rate=16000.0, nfilter=80)
    decibels = fn.to_decibels(mel, multiplier=10, cutoff_db=-80)
    return (
        fn.normalize(decibels, axes=[1]),
        fn.mfcc(decibels, n_mfcc=13),
        fn.audio_resample(sound, in_rate=16000, out_rate=8000),
        rate,
        labels,
    )


@graph(
    exec_dynamic=False,
    prefetch_queue_depth={"cpu_size": 3, "gpu_size": 2},
    set_affinity=True,
    bytes_per_sample=5,
    enable_checkpointing=True,
    output_dtype=lambda p: p.types.FLOAT,
    output_ndim=[1, None],
    stream_policy=lambda p: p.StreamPolicy.SINGLE,
    concurrency=lambda p: p.OperatorConcurrency.FULL,
)
def settings(p: Any) -> Outputs:
    fn = p.fn
    x = fn.random.normal(shape=[3], mean=fn.random.uniform(range=(0, 1)), stddev=2)
    return x, fn.reductions.mean(x, axes=[0])


@graph(seed=None, exec_pipelined=False)
def transforms(p: Any) -> Outputs:
    fn, types = p.fn, p.types
    t = fn.transforms.rotation(angle=fn.random.uniform(range=(-3, 3)), center=(1, 2))
    t = fn.transforms.translation(t, offset=[1, 2])
    t = fn.transforms.combine(t, fn.transforms.scale(scale=(1, 2)))
    image = fn.zeros(shape=[4, 4, 3], dtype=types.UINT8)
    points = fn.constant(fdata=[1.0, 2.0], shape=[1, 2])
    return (
        fn.warp_affine(image, matrix=t, fill_value=0.0, inverse_map=False),
        fn.warp_affine(image, t, size=(3, 4)),
        fn.coord_transform(points, MT=t),
    )


def subclass(p: Any) -> bytes:
    """A pipeline whose class defines the graph."""

    class Images(p.Pipeline):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(2, 3, None, seed=12)
            self.input = p.ops.ExternalSource()
            self.rotate = p.ops.Rotate()
            self.angle = p.ops.random.Uniform(range=[-1.0, 1.0])

        def define_graph(self) -> Outputs:
            images = self.input(name="in")
            return self.rotate(images, angle=self.angle()), images

    made: bytes = Images().serialize()
    return made


def current(p: Any) -> bytes:
    """A pipeline that is the current one while its graph is defined, with sinks."""
    fn = p.fn
    pipe = p.Pipeline(batch_size=2, num_threads=2, seed=-1)
    with pipe:
        named = fn.random.uniform(range=[0, 1], name="A")
        fn.random.uniform(range=[0, 1], preserve=True)
        counted = fn.random.uniform()
        pipe.add_sink(fn.random.coin_flip())
        fn.random.normal()  # nothing needs it
        pipe.set_outputs(counted, named, counted)
    made: bytes = pipe.serialize()
    return made
