"""A loop of torch in several processes, which goes on with another number of them.

    torchrun --nproc-per-node 4 torch_elastic.py RUN [STEPS]

Kill it at any instant, and start it again with another number of processes: samples and weights are
those of an unbroken run. The processes divide a batch of 24 samples. Each adds up the gradients of
all samples in the same order, so that the sums do not depend on the number of processes.
"""

import os
import sys
import zlib

import numpy as np
import torch
import torch.distributed as dist

import bivouac as bv
from bivouac.torch import StatefulDataLoader

BATCH = 24


class Points:
    """Points has noisy points of a plane. The noise is new in each epoch."""

    def __len__(self):
        return 240

    def __getitem__(self, i):
        x = torch.tensor([i % 16, i // 16]) / 16 + 0.1 * torch.randn(2)
        return i, x, x.sum()


def gather(tensor):
    """Return the rows of all processes."""
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor)
    return torch.cat(parts)


def main(directory, steps):
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    loader = StatefulDataLoader(
        Points(), BATCH // dist.get_world_size(), shuffle=True, elastic=True, num_workers=1
    )
    weights = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(weights.parameters(), lr=1e-2)

    with bv.Job(directory, loader, {"model": weights, "optimizer": optimizer}, steps=steps,
                save_every=5, keep=3) as job:  # fmt: skip
        for ids, x, y in job:
            ids, x, y = gather(ids), gather(x), gather(y)
            order = ids.argsort()
            optimizer.zero_grad()
            (weights(x[order]).squeeze(1) - y[order]).square().mean().backward()
            optimizer.step()
            if dist.get_rank() == 0:
                print("samples", job.step + 1, ids[order].tolist(), flush=True)

    numbers = np.concatenate([p.detach().numpy().ravel() for p in weights.parameters()])
    if dist.get_rank() == 0:
        print("weights", zlib.crc32(numbers.tobytes()), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)
