"""Permutations of the samples of a branch, as DALI and Bivouac draw them.

    pipeline_permutations.py FILE

It needs nvidia.dali, and writes the batches that DALI gives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pipeline_conditions

GRAPHS = ("permutations", "permutation_of_condition")
BATCHES = 6


def define(p: Any, name: str, batch: int, state: bytes | None = None) -> Any:
    """Return the pipeline of a graph."""
    settings = {"batch_size": batch, "num_threads": 2, "device_id": None, "seed": 11}
    return p.pipeline_def(enable_conditionals=True, enable_checkpointing=True, **settings)(
        pipeline_conditions.functions(p)[name]
    )(checkpoint=state)


def told(outputs: Any) -> list[list[float]]:
    """Return the values of a batch."""
    return [[float(np.asarray(out.at(i))) for i in range(len(out))] for out in outputs]


def batches(pipe: Any, number: int) -> list[list[list[float]]]:
    return [told(pipe.run()) for _ in range(number)]


if __name__ == "__main__":
    import nvidia.dali

    recorded = {}
    for name in GRAPHS:
        for batch in (1, 2, 7):
            recorded[f"{name} {batch}"] = batches(define(nvidia.dali, name, batch), BATCHES)
    pipe = define(nvidia.dali, "permutations", 7)
    batches(pipe, 3)
    recorded["state"] = pipe.checkpoint().hex()  # type: ignore[assignment]
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in recorded.items())
    Path(sys.argv[1]).write_text("{\n" + lines + "\n}\n")
