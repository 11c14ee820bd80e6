"""The pipelines of DALI's examples for a CPU, as functions of the package.

    python example_scenes.py nvidia.dali FILE     record what DALI makes

Only the import differs between both. A scene returns the batches that it made, as lists of outputs.
Photos, sounds and videos are those of testdata/dali/inputs.
"""

from __future__ import annotations

import base64
import importlib
import json
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

INPUTS = Path(__file__).resolve().parents[2] / "testdata" / "dali" / "inputs"

PHOTOS = [
    "j420_q90.jpg",
    "j422_q75.jpg",
    "j444_q98.jpg",
    "j_gray.jpg",
    "j_prog420.jpg",
    "j420_q30.jpg",
    "j420_odd.jpg",
]

Batches = list[list[Any]]

SCENES: dict[str, Callable[[Any, Path], Batches]] = {}


def scene(function: Callable[[Any, Path], Batches]) -> Callable[[Any, Path], Batches]:
    """Register a scene."""
    SCENES[function.__name__] = function
    return function


def modules(name: str) -> Any:
    """Return the modules of a package in one object."""
    top = importlib.import_module(name)
    parts = {part: importlib.import_module(f"{name}.{part}") for part in ("fn", "math", "types")}
    return SimpleNamespace(pipeline_def=top.pipeline_def, **parts)


def classes(root: Path) -> str:
    """Make a data set of photos in two classes."""
    for i, name in enumerate(PHOTOS):
        folder = root / f"class{i % 2}"
        folder.mkdir(exist_ok=True)
        shutil.copyfile(INPUTS / name, folder / name)
    return str(root)


def take(pipe: Any, number: int) -> Batches:
    """Run a pipeline and return its batches: for each output its layout and its samples."""
    out = []
    for _ in range(number):
        batch = []
        for output in pipe.run():
            samples = [np.array(output.at(i)) for i in range(len(output))]
            batch.append([output.layout(), samples])
        out.append(batch)
    return out


MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def resnet(m: Any, folder: str, shard: int, **options: Any) -> Any:
    """Return the pipeline with which ResNet-50 is trained."""

    @m.pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=12, **options)
    def train() -> Any:
        jpegs, labels = m.fn.readers.file(
            file_root=folder, random_shuffle=True, shard_id=shard, num_shards=2, name="Reader"
        )
        images = m.fn.decoders.image_random_crop(
            jpegs,
            random_aspect_ratio=[0.75, 4.0 / 3.0],
            random_area=[0.08, 1.0],
            num_attempts=100,
        )
        images = m.fn.resize(images, size=[12, 16], interp_type=m.types.INTERP_TRIANGULAR)
        images = m.fn.crop_mirror_normalize(
            images,
            mirror=m.fn.random.coin_flip(probability=0.5),
            dtype=m.types.FLOAT,
            output_layout="CHW",
            mean=MEAN,
            std=STD,
        )
        return images, m.fn.cast(labels, dtype=m.types.INT64)

    pipe = train()
    pipe.build()
    return pipe


@scene
def resnet_train(m: Any, root: Path) -> Batches:
    folder = classes(root)
    return [batch for shard in range(2) for batch in take(resnet(m, folder, shard), 2)]


@scene
def resnet_validation(m: Any, root: Path) -> Batches:
    folder = classes(root)

    @m.pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def validate() -> Any:
        jpegs, labels = m.fn.readers.file(file_root=folder, pad_last_batch=True, name="Reader")
        images = m.fn.decoders.image(jpegs, output_type=m.types.RGB)
        images = m.fn.resize(images, resize_shorter=18)
        images = m.fn.crop_mirror_normalize(
            images, crop=(12, 14), dtype=m.types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
        )
        return images, labels

    return take(validate(), 2)


@scene
def checkpoints(m: Any, root: Path) -> Batches:
    """A training goes on from its state after each of some batches."""
    folder = classes(root)
    pipe = resnet(m, folder, 0, enable_checkpointing=True)
    out: Batches = []
    for _ in range(2):
        out += take(pipe, 1)
        state = pipe.checkpoint()
        out += take(resnet(m, folder, 0, enable_checkpointing=True, checkpoint=state), 1)
    return out


@scene
def conditional(m: Any, root: Path) -> Batches:
    """Each photo is turned, or darkened, or cut, as a random number says."""
    folder = classes(root)

    @m.pipeline_def(
        batch_size=4, num_threads=2, device_id=None, seed=31, enable_conditionals=True
    )
    def augment() -> Any:
        jpegs, labels = m.fn.readers.file(file_root=folder, name="Reader")
        images = m.fn.resize(m.fn.decoders.image(jpegs), size=[12, 14])
        draw = m.fn.random.uniform(range=[0.0, 1.0])
        if draw < 0.3 and labels[0] == 0:
            images = m.fn.rotate(images, angle=90.0, keep_size=True, fill_value=7)
        elif draw < 0.7:
            images = m.fn.brightness(images, brightness=0.5)
        else:
            images = m.fn.flip(images, horizontal=1)
        if not draw > 0.9:
            kind = 1
        else:
            kind = 2
        return images, labels, draw, kind

    return take(augment(), 3)


@scene
def external_sources(m: Any, root: Path) -> Batches:
    """Files that a callable, an iterator and a class of batches give to decoders."""
    del root
    data = [np.fromfile(INPUTS / name, np.uint8) for name in PHOTOS]

    class Files:
        def __init__(self, size: int) -> None:
            self.size, self.at = size, 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            picked = [(self.at + i) % len(data) for i in range(self.size)]
            self.at += self.size
            return [data[i] for i in picked], [np.array([i], np.int32) for i in picked]

    def sample(info: Any) -> Any:
        return np.array([info.idx_in_epoch * 0.25, info.iteration], np.float32)

    def generator() -> Any:
        for i in range(100):
            yield np.full((2, 3), i, np.int16)

    @m.pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=5)
    def graph() -> Any:
        jpegs, number = m.fn.external_source(source=Files(2), num_outputs=2)
        angle = m.fn.external_source(source=sample, batch=False)
        tag = m.fn.external_source(source=generator, layout="W", dtype=m.types.INT16, ndim=1)
        fed = m.fn.external_source(name="fed")
        images = m.fn.resize(m.fn.decoders.image(jpegs), size=[10, 12])
        return images, number, angle, tag, fed

    pipe = graph()
    pipe.build()
    for i in range(pipe.input_feed_count("fed") + 2):
        pipe.feed_input("fed", [np.full((k + 1,), i, np.uint8) for k in range(2)])
    return take(pipe, 3)


@scene
def audio(m: Any, root: Path) -> Batches:
    """Spectra of sounds in WAV and FLAC, as Jasper is trained with."""
    for i, name in enumerate(["a0_pcm_16_1ch.wav", "a1_pcm_16_2ch.wav", "a6_pcm_16_1ch.flac"]):
        (root / f"class{i}").mkdir()
        shutil.copyfile(INPUTS / name, root / f"class{i}" / name)

    @m.pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=12)
    def speech() -> Any:
        data, label = m.fn.readers.file(
            file_root=str(root), file_filters=["*.wav", "*.flac"], name="Reader"
        )
        sound, rate = m.fn.decoders.audio(data, dtype=m.types.FLOAT, downmix=True)
        begin, length = m.fn.nonsilent_region(sound, cutoff_db=-60)
        sound = m.fn.preemphasis_filter(sound, preemph_coeff=0.97)
        power = m.fn.spectrogram(sound, nfft=64, window_length=40, window_step=20)
        mel = m.fn.mel_filter_bank(power, sample_rate=16000, nfilter=12, freq_high=8000.0)
        log = m.fn.to_decibels(mel, multiplier=10.0, reference=1.0, cutoff_db=-80.0)
        even = m.fn.normalize(log, axes=[1], epsilon=1e-5)
        return m.fn.pad(even, axes=[1], align=8), label, rate, begin, length

    return take(speech(), 2)


@scene
def detection(m: Any, root: Path) -> Batches:
    """Photos with boxes, as SSD is trained with."""
    sizes = {name: _size(INPUTS / name) for name in PHOTOS}
    images, annotations = [], []
    for i, (name, (width, height)) in enumerate(sizes.items()):
        shutil.copyfile(INPUTS / name, root / name)
        images.append({"id": i, "file_name": name, "width": width, "height": height})
        for k in range(1 + i % 3):
            box = [width * 0.1 * k, height * 0.05 * k, width * 0.5, height * 0.6]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": i,
                    "category_id": 1 + (i + k) % 3,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": 0,
                }
            )
    categories = [{"id": i + 1, "name": f"kind {i}"} for i in range(3)]
    listing = {"images": images, "annotations": annotations, "categories": categories}
    (root / "boxes.json").write_text(json.dumps(listing))
    steps = np.linspace(0.0, 0.75, 4)
    anchors = [v for y in steps for x in steps for v in (x, y, x + 0.25, y + 0.25)]

    @m.pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=12)
    def detect() -> Any:
        jpegs, boxes, labels = m.fn.readers.coco(
            file_root=str(root),
            annotations_file=str(root / "boxes.json"),
            ratio=True,
            ltrb=True,
            random_shuffle=True,
            name="Reader",
        )
        photo = m.fn.decoders.image(jpegs)
        begin, size, boxes, labels = m.fn.random_bbox_crop(
            boxes,
            labels,
            aspect_ratio=[0.5, 2.0],
            thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
            scaling=[0.3, 1.0],
            bbox_layout="xyXY",
            allow_no_crop=True,
            num_attempts=50,
        )
        photo = m.fn.slice(photo, begin, size)
        photo = m.fn.resize(photo, resize_x=14, resize_y=14, interp_type=m.types.INTERP_LINEAR)
        mirror = m.fn.random.coin_flip(probability=0.5)
        photo = m.fn.crop_mirror_normalize(
            photo, mirror=mirror, dtype=m.types.FLOAT, mean=[104.0, 117.0, 123.0]
        )
        flipped = m.fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
        offsets, kinds = m.fn.box_encoder(flipped, labels, criteria=0.5, anchors=anchors)
        return photo, flipped, labels, offsets, kinds

    return take(detect(), 2)


def _size(path: Path) -> tuple[int, int]:
    """Return width and height of a JPEG file."""
    data = path.read_bytes()
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
    return int.from_bytes(width, "big"), int.from_bytes(height, "big")


@scene
def sequences(m: Any, root: Path) -> Batches:
    """Sequences of frames: files of frames, and arguments for each frame."""
    for clip in range(2):
        (root / f"clip{clip}").mkdir()
        for i in range(5):
            picture = (np.arange(14 * 18 * 3) * (3 + clip) + 11 * i) % 251
            header = b"P6 18 14 255\n"
            frame = root / f"clip{clip}" / f"frame{i}.ppm"
            frame.write_bytes(header + picture.astype(np.uint8).tobytes())

    def shifts(i: int) -> Any:
        moves = [[[0.5 * i + k, -0.25 * f] for f in range(3)] for k in range(2)]
        return [np.array(move, np.float32) for move in moves]

    @m.pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=8)
    def graph() -> Any:
        clips = m.fn.readers.sequence(
            file_root=str(root), sequence_length=3, step=1, stride=1, name="Reader"
        )
        small = m.fn.resize(clips, size=[7, 9], interp_type=m.types.INTERP_LINEAR)
        turned = m.fn.sequence_rearrange(small, new_order=[2, 0, 1, 0])
        first = m.fn.element_extract(small, element_map=0)
        shift = m.fn.per_frame(m.fn.external_source(source=shifts))
        matrix = m.fn.transforms.translation(offset=shift)
        moved = m.fn.warp_affine(small, matrix, fill_value=3, inverse_map=False)
        cut = m.fn.crop(small, crop=(4, 5), crop_pos_x=m.fn.random.uniform(range=[0.0, 1.0]))
        blurred = m.fn.gaussian_blur(cut, window_size=3, sigma=1.0)
        return small, turned, first, matrix, moved, cut, blurred

    return take(graph(), 3)


@scene
def video(m: Any, root: Path) -> Batches:
    """Sequences of frames of a video, with the number of the first frame."""
    del root

    @m.pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=3)
    def graph() -> Any:
        frames = m.fn.experimental.readers.video(
            filenames=[str(INPUTS / "v_mjpeg422.mp4")], sequence_length=3, step=2, name="Reader"
        )
        return m.fn.resize(frames, size=[12, 16]), frames.shape()

    return take(graph(), 2)


# Recording.


def encoded(batches: Batches) -> Any:
    """Return batches as JSON has them."""
    return [
        [[layout, [_encoded(sample) for sample in samples]] for layout, samples in batch]
        for batch in batches
    ]


def _encoded(array: Any) -> Any:
    data = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
    return [array.dtype.name, list(array.shape), data]


def decoded(sample: Any) -> Any:
    """Return the array of a recorded sample."""
    dtype, shape, data = sample
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype).reshape(shape)


def run(name: str, package: str, root: Path) -> Batches:
    """Run a scene with a package, in a new folder below root."""
    folder = root / "scene"
    folder.mkdir()
    return SCENES[name](modules(package), folder)


def record(package: str) -> dict[str, Any]:
    """Return what a package makes of all scenes."""
    made = {}
    for name in SCENES:
        with tempfile.TemporaryDirectory() as root:
            made[name] = encoded(run(name, package, Path(root)))
    return made


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(record(sys.argv[1]), separators=(",", ":")) + "\n")
