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
