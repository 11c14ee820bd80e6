"""A loop over an elastic loader: each start may have other workers and another batch size.

    python elastic_loop.py RUN [--workers N] [--batch-size B] [--samples N]

bivouac crashtest -- python elastic_loop.py {dir} --vary

With --vary each start has another number of workers. Samples, augmentations and weights are those
of a run that nobody killed.
"""

import argparse
import random

import bivouac as bv
import numpy as np
from bivouac.torch import StatefulDataLoader


class Points:
    """Points has noisy points of a plane. The noise is new in each epoch."""

    def __len__(self):
        return 256

    def __getitem__(self, i):
        noise = 0.1 * np.random.normal(size=2)
        flip = random.choice([-1, 1])
        return i, flip * (np.array([i % 16, i // 16]) / 16 + noise)


def main(directory, workers, batch_size, epochs):
    loader = StatefulDataLoader(
        Points(), batch_size, shuffle=True, num_workers=workers, elastic=True, seed=7
    )
    state = {"weights": np.zeros(2), "samples": np.zeros((), np.int64)}

    with bv.Job(directory, loader, state, epochs=epochs, save_every=10) as job:
        print("begin after", state["samples"], "samples in epoch", loader.epoch, flush=True)
        for ids, x in job:
            x = np.asarray(x)
            state["weights"] += 0.01 * (x * (x.sum(1) - x @ state["weights"])[:, None]).mean(0)
            state["samples"] += len(ids)
            bv.record(ids, state["weights"], step=job.step + 1)

    print(state["samples"], "samples, weights", state["weights"].tolist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--vary", action="store_true", help="choose the workers at random")
    args = parser.parse_args()
    if args.vary:
        args.workers = random.SystemRandom().choice([0, 1, 2, 3])
    main(args.directory, args.workers, args.batch_size, args.epochs)
