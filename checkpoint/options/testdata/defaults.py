"""Prints the options of orbax.checkpoint.v1 with their defaults, as JSON by dotted name.

python defaults.py > defaults.json
"""

import dataclasses
import enum
import json

import orbax.checkpoint
from orbax.checkpoint import v1 as ocp

GROUPS = ("pytree", "array", "asynchronous", "multiprocessing", "file", "atomicity", "memory",
          "checkpointables", "safetensors", "deletion", "pathways")


def fields(at, v, out):
    if dataclasses.is_dataclass(v):
        for f in dataclasses.fields(v):
            fields(f"{at}.{f.name}", getattr(v, f.name), out)
        return
    if isinstance(v, enum.Enum):
        v = v.value
    if v is not None and not isinstance(v, (bool, int, float, str, tuple, list)):
        v = f"<{type(v).__name__}>"
    out[at] = v


c = ocp.Context()
out = {"checkpoint_layout": c.checkpoint_layout.value}
for g in GROUPS:
    fields(g, getattr(c, g), out)
print(json.dumps({"version": orbax.checkpoint.__version__, "defaults": out}, indent=1))
