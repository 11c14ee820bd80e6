"""A training in numpy that keeps its checkpoints with bivouac.

bivouac crashtest -- python bivouac_numpy.py {dir}

The position in the data is in the checkpoint, beside weights and momentum. A killed run equals an
unbroken one bit for bit.
"""

import os
import sys
import time

import bivouac
import bivouac.checkpoint as ocp
import numpy as np

SAMPLES, BATCH, STEPS, SAVE_EVERY = 512, 16, 120, 10


def order(epoch: int) -> np.ndarray:
    """Return the ids of an epoch: a function of its number, so it needs no state."""
    return np.random.default_rng(epoch).permutation(SAMPLES)


def main(directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    data = np.random.default_rng(7).normal(size=(SAMPLES, 8))
    target = data @ np.arange(8.0)
    state = {"weights": np.zeros(8), "momentum": np.zeros(8), "position": 0, "step": 0}
    with ocp.training.Checkpointer(directory) as checkpointer:
        if checkpointer.latest is not None:
            state = checkpointer.load()
        while state["step"] < STEPS:
            epoch, first = divmod(state["position"], SAMPLES)
            ids = order(epoch)[first : first + BATCH]
            error = data[ids] @ state["weights"] - target[ids]
            state["momentum"] = 0.9 * state["momentum"] + data[ids].T @ error / BATCH
            state["weights"] = state["weights"] - 0.02 * state["momentum"]
            state["position"] += BATCH
            state["step"] += 1
            time.sleep(0.005)  # a model that takes its time
            loss = float(error @ error)
            bivouac.record(ids, state, step=state["step"], epoch=epoch, loss=loss)
            if state["step"] % SAVE_EVERY == 0:
                checkpointer.save_async(state["step"], state)


if __name__ == "__main__":
    main(sys.argv[1])
