"""A loop of torch that continues where it was interrupted.

    python torch_loop.py RUN [STEPS]

Kill it at any instant and start it again: samples and weights are those of an unbroken run.
"""

import sys
import zlib

import numpy as np
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

import bivouac as bv


class Points(torch.utils.data.Dataset):
    """Points has noisy points of a plane. The noise is new in each epoch."""

    def __len__(self):
        return 256

    def __getitem__(self, i):
        x = torch.tensor([i % 16, i // 16]) / 16 + 0.1 * torch.randn(2)
        return i, x, x.sum()


def main(directory, steps):
    torch.manual_seed(0)
    loader = StatefulDataLoader(Points(), batch_size=8, shuffle=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler}

    with bv.Job(directory, loader, state, steps=steps, save_every=20, keep=3) as job:
        print("begin after step", job.step, flush=True)
        for ids, x, y in job:
            loss = (model(x).squeeze(1) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            print("samples", job.step + 1, ids.tolist(), flush=True)

    weights = np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])
    print("weights", zlib.crc32(weights.tobytes()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
