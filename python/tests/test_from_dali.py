"""The scripts of docs/guide/moving-from-dali.md run here, and with DALI where it is installed."""

from __future__ import annotations

import importlib
import json
import math
import shutil
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from test_pages import EXAMPLES, ROOT, example, pictures

pytestmark = [
    pytest.mark.usefixtures("sidecar"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]

CODEC = ROOT / "codec"


def sounds(root: Path) -> None:
    for i in range(6):
        folder = root / f"speaker{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        with wave.open(str(folder / f"{i}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            for t in range(4000 + 1000 * i):
                value = math.sin(t * (0.01 + 0.02 * i)) * 8000 + math.sin(t * t * 1e-5) * 4000
                file.writeframesraw(struct.pack("<h", int(value)))


def boxes(root: Path) -> Path:
    images: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for i in range(8):
        shutil.copy(CODEC / "jpeg" / "testdata" / "flower.jpg", root / f"{i}.jpg")
        images.append({"id": i, "file_name": f"{i}.jpg", "width": 1, "height": 1})
        for k in range(1 + i % 3):
            box = [20.0 + 10 * k, 30.0, 60.0 + i, 50.0 + k]
            marks.append({"id": len(marks), "image_id": i, "category_id": 1 + k, "bbox": box})
            marks[-1].update(area=box[2] * box[3], iscrowd=0)
    width, height = size(CODEC / "jpeg" / "testdata" / "flower.jpg")
    for image in images:
        image.update(width=width, height=height)
    file = root / "annotations.json"
    kinds = [{"id": k, "name": str(k)} for k in range(1, 4)]
    file.write_text(json.dumps({"images": images, "annotations": marks, "categories": kinds}))
    return file


def size(path: Path) -> tuple[int, int]:
    """Return width and height in the header of a JPEG."""
    data = path.read_bytes()
    at = 2
    while not 0xC0 <= data[at + 1] <= 0xC2:
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    height, width = struct.unpack(">HH", data[at + 5 : at + 9])
    return width, height


ANCHORS = [
    round(v, 3)
    for y in range(4)
    for x in range(4)
    for v in (x / 4, y / 4, x / 4 + 0.25, y / 4 + 0.25)
]


def scripts(tmp_path: Path) -> dict[str, Callable[[Any], Any]]:
    """Return the scripts, which take the package: nvidia.dali or bivouac."""
    module = example("from_dali")
    places = {name: tmp_path / name for name in ("pictures", "boxes", "sounds")}
    for place in places.values():
        place.mkdir()
    pictures(places["pictures"])
    annotations = boxes(places["boxes"])
    sounds(places["sounds"])
    clips = [str(CODEC / "video" / "testdata" / name) for name in ("vp9.webm", "vp8.webm")]

    def of(m: Any) -> tuple[Any, Any, Any]:
        types = importlib.import_module(f"{m.__name__}.types")
        return importlib.import_module(f"{m.__name__}.fn"), m.pipeline_def, types

    def augmented(m: Any) -> Any:
        rand_augment = importlib.import_module(f"{m.__name__}.auto_aug.rand_augment")
        return module.augmented(*of(m)[:2], rand_augment, folder)

    folder = str(places["pictures"])
    return {
        "augmented": augmented,
        "resnet train": lambda m: module.resnet_train(*of(m), folder),
        "resnet validate": lambda m: module.resnet_validate(*of(m), folder),
        "ssd": lambda m: module.ssd(*of(m), str(places["boxes"]), str(annotations), ANCHORS),
        "jasper": lambda m: module.jasper(*of(m), str(places["sounds"])),
        "video": lambda m: module.video(*of(m), clips),
    }


NAMES = ("augmented", "resnet train", "resnet validate", "ssd", "jasper", "video")


def batches(pipe: Any, number: int = 4) -> list[list[list[Any]]]:
    return [
        [[np.array(output.at(i)) for i in range(len(output))] for output in pipe.run()]
        for _ in range(number)
    ]


def skip_without_ffmpeg(name: str) -> None:
    if name == "video" and shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not installed")


@pytest.mark.parametrize("name", NAMES)
def test_scripts_run(name: str, tmp_path: Path) -> None:
    skip_without_ffmpeg(name)
    make = scripts(tmp_path)[name]
    made = batches(make(bivouac))
    first, again = made[0], batches(make(bivouac), 1)[0]
    shapes = {
        "augmented": (8, (64, 64, 3)),
        "resnet train": (8, (3, 64, 64)),
        "resnet validate": (8, (3, 64, 64)),
        "ssd": (4, (3, 60, 60)),
        "jasper": (4, None),
        "video": (2, (4, 3, 32, 32)),
    }[name]
    assert len(first[0]) == shapes[0]
    if shapes[1] is not None:
        assert {sample.shape for sample in first[0]} == {shapes[1]}
    for a, b in zip(first, again):
        assert all(np.array_equal(x, y) for x, y in zip(a, b))


# The largest difference from DALI 2.4.0 on a CPU.
NEAR = {"jasper": 0.001, "video": 1.0}  # of values up to 4, and up to 255; others are equal


@pytest.mark.parametrize("name", NAMES)
def test_scripts_are_as_in_dali(name: str, tmp_path: Path) -> None:
    skip_without_ffmpeg(name)
    dali = pytest.importorskip("nvidia.dali", reason="DALI is not installed")
    make = scripts(tmp_path)[name]
    differ = [0.0]
    for ours, theirs in zip(batches(make(bivouac)), batches(make(dali))):
        for mine, want in zip(ours, theirs):
            assert [a.shape for a in mine] == [b.shape for b in want]
            assert [a.dtype for a in mine] == [b.dtype for b in want]
            for a, b in zip(mine, want):
                if a.dtype.kind == "f" and a.size:
                    differ.append(float(np.abs(a.astype(np.float64) - b).max()))
                else:
                    assert np.array_equal(a, b)
    print(name, max(differ))
    assert max(differ) <= NEAR.get(name, 0.0)


def test_loops(tmp_path: Path) -> None:
    make = scripts(tmp_path)["resnet train"]
    module = example("from_dali")
    seen: list[Any] = []
    loader = module.loop(make(bivouac), lambda images, labels: seen.append(labels))
    assert [len(labels) for labels in seen] == [8, 8, 4]
    next(loader)
    again = module.resumed(loader, make(bivouac))
    for a, b in zip(loader, again, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a)


def test_definitions(tmp_path: Path) -> None:
    folder = tmp_path / "texts" / "class0"
    folder.mkdir(parents=True)
    for i in range(4):
        (folder / f"{i}.jpg").write_bytes(b"x" * 5)
    path = tmp_path / "data.yaml"
    path.write_text("path: texts\nreader: file\nbatch_size: 2\n")
    module = example("from_dali")
    batches_, first = module.in_grain(path)
    assert sorted(first) == ["files", "files_ends", "labels"] and len(list(batches_)) == 3
    pytest.importorskip("torch")
    assert module.from_yaml(path)["labels"].shape == (2, 1)
