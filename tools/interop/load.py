"""Loads the last step of a run with orbax-checkpoint and compares it with what `bivouac info --json --contents` printed.

Usage: load.py RUN INFO.json
"""

import hashlib
import json
import os
import sys

import numpy as np
import orbax.checkpoint as v0
from orbax.checkpoint import v1 as ocp


def leaves(node, path=()):
    """Yields (path, leaf) for each leaf of nested dicts, lists and tuples."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield from leaves(child, path + (str(key),))
    elif isinstance(node, (list, tuple)):
        for i, child in enumerate(node):
            yield from leaves(child, path + (str(i),))
    else:
        yield ".".join(path), node


def describe(leaf):
    """What is compared: type, shape and a digest of the bytes; the value itself where it is no array."""
    if isinstance(leaf, str):
        return {"value": leaf}
    a = np.asarray(leaf)
    a = np.ascontiguousarray(a).reshape(a.shape)
    return {"dtype": a.dtype.name, "shape": list(a.shape), "sha256": hashlib.sha256(a.tobytes()).hexdigest()}


def main(run, info_path):
    with open(info_path) as f:
        info = json.load(f)
    wrong = 0

    def compare(how, loaded, want):
        nonlocal wrong
        got = {path: describe(leaf) for path, leaf in leaves(loaded)}
        for path in sorted(got.keys() | want.keys()):
            if got.get(path) != want.get(path):
                wrong += 1
                print(f"DIFFERENT ({how}) {path}: orbax {got.get(path)}, bivouac {want.get(path)}")
        print(f"{how}: {len(got)} leaves loaded, {sum(got[p] == want.get(p) for p in got)} equal bit for bit")

    want = {}
    for leaf in info["items"]["state"]["leaves"]:
        keys = ("value",) if "value" in leaf else ("dtype", "shape", "sha256")
        want[leaf["path"]] = {k: leaf[k] for k in keys}
    if not want:
        sys.exit("nothing to compare")

    registry = ocp.handlers.local_registry()
    registry.add(ocp.handlers.JsonHandler, checkpointable_name="data")
    context = ocp.Context()
    context.checkpointables.registry = registry
    with context, ocp.training.Checkpointer(os.path.abspath(run)) as steps:
        latest = steps.latest
        if latest is None or latest.step != info["step"]:
            sys.exit(f"orbax sees {latest} as the latest step, bivouac {info['step']}")
        items = steps.load_checkpointables(latest.step)
    compare("orbax-checkpoint " + v0.__version__ + ", v1 API", items["state"], want)
    if items["data"] != info["items"]["data"]["json"]:
        wrong += 1
        print(f"DIFFERENT data: orbax {items['data']}, bivouac {info['items']['data']['json']}")
    else:
        print("data: equal as JSON")

    with v0.CheckpointManager(os.path.abspath(run), item_names=("state",)) as manager:
        if manager.latest_step() != info["step"]:
            sys.exit(f"orbax v0 sees {manager.latest_step()} as the latest step")
        restored = manager.restore(
            manager.latest_step(),
            args=v0.args.Composite(state=v0.args.StandardRestore()))
    compare("v0 CheckpointManager", restored["state"], want)
    if wrong:
        sys.exit(f"{wrong} leaves differ")
    print("interop: passed")


main(*sys.argv[1:])
