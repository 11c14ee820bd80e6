"""A loop of jax, flax and optax that continues where it was interrupted.

    python jax_loop.py RUN [STEPS]

Kill it at any instant and start it again: samples and weights are those of an unbroken run.
"""

import sys
import zlib

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState

import bivouac as bv


class Batches:
    """A Batches yields shuffled points. Its state is its position."""

    samples, batch_size = 256, 8

    def __init__(self):
        self.epoch = self.batch = 0

    def __len__(self):
        return self.samples // self.batch_size

    def __iter__(self):
        order = np.random.default_rng((3, self.epoch)).permutation(self.samples)
        while self.batch < len(self):
            ids = order[self.batch * self.batch_size :][: self.batch_size]
            self.batch += 1
            yield ids, np.stack([ids % 16, ids // 16], axis=1) / 16
        self.epoch, self.batch = self.epoch + 1, 0

    def state_dict(self):
        return {"epoch": self.epoch, "batch": self.batch}

    def load_state_dict(self, state):
        self.epoch, self.batch = state["epoch"], state["batch"]


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(32)(x))
        return nn.Dense(1)(nn.Dropout(0.1, deterministic=False)(x)).squeeze(1)


@jax.jit
def update(state, x):
    dropout = jax.random.fold_in(jax.random.key(1), state.step)

    def loss(params):
        return jnp.square(state.apply_fn(params, x, rngs={"dropout": dropout}) - x.sum(1)).mean()

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


def main(directory, steps):
    np.random.seed(0)
    params = Net().init(jax.random.key(0), jnp.zeros((1, 2)))
    optimizer = optax.adamw(optax.cosine_decay_schedule(1e-3, steps))
    first = TrainState.create(apply_fn=Net().apply, params=params, tx=optimizer)

    with bv.Job(directory, Batches(), first, steps=steps, save_every=20, keep=3) as job:
        print("begin after step", job.step, flush=True)
        for ids, x in job:
            noise = 0.1 * np.random.normal(size=x.shape)
            job.state = update(job.state, jnp.asarray(x + noise, jnp.float32))
            print("samples", job.step + 1, ids.tolist(), flush=True)

    weights = np.concatenate([np.ravel(p) for p in jax.tree.leaves(job.state.params)])
    print("weights", zlib.crc32(weights.tobytes()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
