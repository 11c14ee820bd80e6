"""A loop of jax in several processes, which goes on with another number of them.

    RANK=0 WORLD_SIZE=2 COORDINATOR=127.0.0.1:9911 python jax_elastic.py RUN [STEPS]

Kill it at any instant, and start it again with another number of processes: samples and weights are
those of an unbroken run. The processes divide a batch of 24 samples, and each trains on all of it.
"""

import os
import sys
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

import bivouac as bv
from bivouac.torch import StatefulDataLoader

BATCH = 24


class Points:
    """Points has noisy points of a plane. The noise is new in each epoch."""

    def __len__(self):
        return 240

    def __getitem__(self, i):
        noise = 0.1 * np.random.normal(size=2)
        return np.int32(i), (np.array([i % 16, i // 16]) / 16 + noise).astype(np.float32)


@jax.jit
def update(weights, x):
    return weights - 0.1 * jax.grad(lambda w: jnp.square(x @ w - x.sum(1)).mean())(weights)


def main(directory, steps):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if size > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(os.environ["COORDINATOR"], size, rank)
    loader = StatefulDataLoader(
        Points(), BATCH // size, shuffle=True, elastic=True, rank=rank, world=size
    )

    with bv.Job(directory, loader, jnp.zeros(2), steps=steps, save_every=5, keep=3) as job:
        for ids, x in job:
            ids, x = multihost_utils.process_allgather((np.asarray(ids), np.asarray(x)), tiled=True)
            order = np.argsort(ids)
            job.state = update(job.state, x[order])
            if rank == 0:
                print("samples", job.step + 1, ids[order].tolist(), flush=True)

    if rank == 0:
        print("weights", zlib.crc32(np.asarray(job.state).tobytes()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)
