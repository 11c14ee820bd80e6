"""Checkpoints that several processes write together, and read together.

jax.distributed joins processes of this machine, with half of the 8 fake devices
each. What they make follows from a seed that all are given, so that each can make
the whole truth and hold its shards.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import zlib

import numpy as np

COUNT = 2
DEVICES = 8
TIMEOUT = 300


def run(job):
    """Runs a job in COUNT processes; raises what went wrong in one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, XLA_FLAGS=f"--xla_force_host_platform_device_count={DEVICES // COUNT}", PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    children = [
        subprocess.Popen([sys.executable, "-m", "processes", json.dumps(job | {"port": port, "process": i})], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for i in range(COUNT)
    ]
    failed = None
    try:
        for c in children:
            _, err = c.communicate(timeout=TIMEOUT)
            if c.returncode:
                failed = failed or RuntimeError(f"process {c.args[-1]} ended with {c.returncode}: {err[-1500:]}")
    finally:
        for c in children:
            if c.poll() is None:
                c.kill()
    if failed:
        raise failed


def random_sharding(rng, shape):
    """A sharding over the devices of all processes."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    extents = [(8,), (2, 4), (4, 2), (2, 2, 2)][int(rng.integers(0, 4))]
    names = [f"m{i}" for i in range(len(extents))]
    mesh = Mesh(np.array(jax.devices()).reshape(extents), names)
    spec, cut = [[] for _ in shape], [1] * len(shape)
    for name, extent in zip(names, extents):
        axes = [i for i in range(len(shape)) if shape[i] % (cut[i] * extent) == 0]
        if axes and rng.integers(0, 5):
            i = axes[int(rng.integers(0, len(axes)))]
            spec[i].append(name)
            cut[i] *= extent
    return NamedSharding(mesh, PartitionSpec(*[tuple(s) if s else None for s in spec]))


def spread(rng, a):
    """The array on the devices of all processes, each of which has it whole."""
    import jax

    return jax.make_array_from_callback(a.shape, random_sharding(rng, a.shape), lambda index: a[index])


def spread_tree(rng, node):
    """The tree with about two of three arrays spread; the others are as they are, which process 0 writes."""
    if isinstance(node, dict):
        return {k: spread_tree(rng, v) for k, v in node.items()}
    if isinstance(node, (list, tuple)):
        return type(node)(spread_tree(rng, v) for v in node)
    if isinstance(node, np.ndarray) and rng.integers(0, 3):
        return spread(rng, node)
    return node


LAYOUTS = [("orbax 2 processes", layout, False) for layout in ("ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2")]
LAYOUTS += [("orbax 2 processes unmerged", layout, True) for layout in ("ocdbt-zarr3", "ocdbt-zarr2")]


def write(root, seed, trees):
    """Trees of every layout, written by all processes together; some are left before their databases are merged."""
    run({"job": "write", "root": root, "seed": seed, "trees": trees})


def write_here(job):
    import truth
    import values
    import writers
    from orbax.checkpoint._src.serialization import ocdbt_utils

    merge = ocdbt_utils.merge_ocdbt_per_process_files

    async def leave(*args, **kwargs):
        """What a process killed before the merge leaves, but for the names of the directories."""

    for row, (library, layout, unmerged) in enumerate(LAYOUTS):
        rng = np.random.default_rng([job["seed"], 2000 + row])
        orbax = writers.Orbax(rng, layout)
        orbax.trees.array = values.random_array
        for i in range(job["trees"]):
            folder = os.path.join(job["root"], f"p{row}-{i:03}")
            tree = orbax.trees.tree()
            together = spread_tree(rng, tree)
            ocdbt_utils.merge_ocdbt_per_process_files = leave if unmerged else merge
            with orbax.context():
                orbax.v1.save(os.path.join(folder, "checkpoint"), together)
            if job["process"] == 0:
                kind = "unmerged" if unmerged else "tree"
                truth.store(folder, {"library": library, "layout": layout, "kind": kind, "path": "checkpoint", "leaves": truth.leaves(tree)})


def read(folders):
    """All processes load each checkpoint, every array onto the devices of all; returns the differences by folder."""
    with tempfile.TemporaryDirectory() as results:
        run({"job": "read", "folders": folders, "results": results})
        found = []
        for i in range(COUNT):
            with open(os.path.join(results, str(i)), encoding="utf-8") as f:
                found.append(json.load(f))
    return {folder: [f"process {i}: {text}" for i, one in enumerate(found) for text in one[folder]] for folder in folders}


def read_here(job):
    out = {folder: read_one(folder) for folder in job["folders"]}
    with open(os.path.join(job["results"], str(job["process"])), "w", encoding="utf-8") as f:
        json.dump(out, f)


def read_one(folder):
    """Loads a checkpoint and compares what this process has of it."""
    import jax
    import truth
    import values
    from orbax.checkpoint import v1

    case = truth.load(folder)
    rng = np.random.default_rng(zlib.crc32(folder.encode()))

    def abstract(leaf):
        if leaf["kind"] != "array":
            return truth.value(leaf)
        shape = tuple(leaf["shape"])
        return jax.ShapeDtypeStruct(shape, values.dtype_of(leaf["dtype"]), sharding=random_sharding(rng, shape))

    loaded = v1.load(os.path.join(folder, case["path"]), truth.tree(case["leaves"], abstract))
    got = {(keys, kinds): v for keys, kinds, v in truth.flatten(loaded)}
    wrong = []
    for leaf in case["leaves"]:
        name = "/".join(map(repr, leaf["keys"]))
        v = got.get((tuple(leaf["keys"]), tuple(leaf["kinds"])), KeyError)
        if leaf["kind"] != "array":
            if v is KeyError or truth.describe(v) != {k: x for k, x in leaf.items() if k not in ("keys", "kinds")}:
                wrong.append(f"{name}: wrote {truth.short(leaf)}, read {v!r}")
            continue
        want = truth.value(leaf)
        if not isinstance(v, jax.Array) or v.dtype != want.dtype or v.shape != want.shape:
            wrong.append(f"{name}: wrote {truth.short(leaf)}, read {v!r}")
            continue
        for shard in v.addressable_shards:
            if values.canonical(np.asarray(shard.data)) != values.canonical(want[shard.index]):
                wrong.append(f"{name}: other elements at {shard.index}")
    return wrong


def main(job):
    import jax

    jax.distributed.initialize(f"127.0.0.1:{job['port']}", COUNT, job["process"])
    {"write": write_here, "read": read_here}[job["job"]](job)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
