"""A JAX loop that keeps its checkpoints with Orbax.

bivouac crashtest -- python orbax_loop.py {dir}
bivouac crashtest -- python orbax_loop.py {dir} --no-position

With the position in the data in the checkpoint nothing is lost. Without it, the loop begins the
data again after each kill.
"""

import argparse
import os
import time

import bivouac
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

SAMPLES, BATCH, STEPS, SAVE_EVERY = 512, 16, 60, 10


@jax.jit
def update(weights: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    def loss(w: jax.Array) -> jax.Array:
        return jnp.mean((x @ w - y) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.05 * gradient, value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--no-position", action="store_true")
    args = parser.parse_args()
    data = np.random.default_rng(7).normal(size=(SAMPLES, 8)).astype(np.float32)
    order = np.random.default_rng(0).permutation(SAMPLES)
    state = {"weights": jnp.zeros(8), "position": 0}
    step = 0
    with ocp.CheckpointManager(os.path.abspath(args.directory)) as manager:
        if (latest := manager.latest_step()) is not None:
            state = manager.restore(latest, args=ocp.args.StandardRestore(state))
            step = latest
            if args.no_position:
                state["position"] = 0
        while step < STEPS:
            first = state["position"] % SAMPLES
            ids = order[first : first + BATCH]
            weights, loss = update(state["weights"], data[ids], data[ids].sum(1))
            state = {"weights": weights, "position": state["position"] + BATCH}
            step += 1
            time.sleep(0.01)  # a model that takes its time
            bivouac.record(ids, state, step=step, loss=loss)
            if step % SAVE_EVERY == 0:
                manager.save(step, args=ocp.args.StandardSave(state))


if __name__ == "__main__":
    main()
