"""A loop of several processes of torch that continues where it was interrupted.

    torchrun --nproc-per-node 2 torch_ranks.py RUN [STEPS]

Kill any process at any instant and start it again: samples and weights are those of an unbroken
run.
"""

import sys
import zlib

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import bivouac as bv
from bivouac.torch import StatefulDataLoader, StatefulDistributedSampler


class Points:
    """Points has noisy points of a plane. The noise is new in each epoch."""

    def __len__(self):
        return 256

    def __getitem__(self, i):
        x = torch.tensor([i % 16, i // 16]) / 16 + 0.1 * torch.randn(2)
        return i, x, x.sum()


def made():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))


def main(directory, steps):
    dist.init_process_group()
    sampler = StatefulDistributedSampler(Points(), seed=3)
    loader = StatefulDataLoader(Points(), batch_size=8, sampler=sampler)
    model = made()
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(dist.get_rank())  # each process has random numbers of its own

    state = {"model": model, "optimizer": optimizer}
    with bv.Job(directory, loader, state, steps=steps, save_every=20, keep=3) as job:
        print("begin after step", job.step, flush=True)
        for ids, x, y in job:
            loss = (model(x).squeeze(1) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("samples", job.step + 1, ids.tolist(), flush=True)

    weights = [p.full_tensor().detach().numpy().ravel() for p in model.parameters()]
    print("weights", zlib.crc32(np.concatenate(weights).tobytes()), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
