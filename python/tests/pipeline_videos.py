"""Pipelines that are fed videos, as DALI and Bivouac run them alike.

    pipeline_videos.py FILE

It needs nvidia.dali, and writes what DALI gives. A batch has the shape and the mean of each frame
for every sequence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

VIDEOS = Path(__file__).parents[2] / "codec" / "video" / "testdata"
FILES = {"m": "motion.avi", "o": "odd.webm", "p": "vp9.webm", "q": "vp8.webm"}

# Options of the pipeline, options of the input, and what the program does: it feeds the video of a
# letter, runs (r), or feeds what is no video (x). DALI with batches ahead
# raises their error at any earlier batch, so those scenes have enough data.
SCENES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "one": ({}, {}, "mrr"),
    "none": ({}, {}, "rr"),
    "end": ({}, {}, "mrrrrmrrr"),
    "many": ({}, {"sequence_length": 3}, "mopqrrrrrrrrrrrrrrr"),
    "odd": ({"batch_size": 3}, {"sequence_length": 7}, "oorrrrrrr"),
    "pad": ({"batch_size": 3}, {"sequence_length": 7, "last_sequence_policy": "pad"}, "omrrrrrr"),
    "frames": ({"batch_size": 4}, {"sequence_length": 1}, "mrrrr"),
    "long": ({"batch_size": 1}, {"sequence_length": 50}, "prpr"),
    "padded long": ({}, {"sequence_length": 50, "last_sequence_policy": "pad"}, "mrmr"),
    "ahead": ({"prefetch_queue_depth": 2}, {}, "mmrrr"),
    "three ahead": ({"prefetch_queue_depth": 3}, {}, "mpmrrrrr"),
    "other executor": ({"prefetch_queue_depth": 2, "exec_dynamic": False}, {}, "mmrrr"),
    "no copy": ({}, {"no_copy": True}, "mqrrrr"),
    "blocking": ({}, {"blocking": True}, "mrrprr"),
    "hints": (
        {},
        {"bytes_per_sample_hint": [100], "affine": False, "preserve": True, "device": "cpu"},
        "mr",
    ),
    "no video": ({}, {}, "xr"),
    "policy": ({}, {"last_sequence_policy": "half"}, "mr"),
    "checkpoints": ({"enable_checkpointing": True}, {}, "mr"),
}


def read(letter: str) -> Any:
    """Return the bytes of a video."""
    if letter == "x":
        return np.arange(200, dtype=np.uint8)
    return np.fromfile(VIDEOS / FILES[letter], np.uint8)


def define(m: Any, name: str) -> Any:
    """Return the pipeline of a scene."""
    options, of_input, _ = SCENES[name]
    usual = {"batch_size": 2, "num_threads": 2, "device_id": None, "prefetch_queue_depth": 1}
    pipe = m.Pipeline(**usual | options)
    with pipe:
        video = m.fn.experimental.inputs.video(name="v", **{"sequence_length": 5} | of_input)
        pipe.set_outputs(video)
    return pipe


def told(output: Any) -> list[Any]:
    """Return the shape and the means of the frames of each sequence."""
    assert output.layout() == "FHWC" and str(output.dtype).endswith("UINT8")
    out = []
    for i in range(len(output)):
        frames = np.asarray(output.at(i))
        means = [round(float(frame.mean()), 2) for frame in frames]
        out.append({"shape": list(frames.shape), "means": means})
    return out


def play(m: Any, name: str) -> list[Any]:
    """Return what each run of a scene gives: a batch, or "error"."""
    try:
        pipe = define(m, name)
        pipe.build()
    except RuntimeError:
        return ["not built"]
    found: list[Any] = []
    for act in SCENES[name][2]:
        if act != "r":
            pipe.feed_input("v", [read(act)])
            continue
        try:
            found.append(told(pipe.run()[0]))
        except RuntimeError:
            found.append("error")
    return found


if __name__ == "__main__":
    import nvidia.dali

    recorded = {name: play(nvidia.dali, name) for name in SCENES}
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in sorted(recorded.items()))
    Path(sys.argv[1]).write_text("{\n" + lines + "\n}\n")
