"""A plain torch loop: it saves model and optimizer, and begins its epoch again after a kill.

bivouac crashtest -- python plain_torch.py {dir}

crashtest finds what this costs: the samples of the epoch that were trained on before the checkpoint
are trained on once more.
"""

import os
import sys

import bivouac
import torch
from torch.utils.data import DataLoader, Dataset

EPOCHS, SAVE_EVERY = 3, 10


class Numbers(Dataset):
    """A data set whose samples know their ids."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, i: int) -> tuple[int, torch.Tensor]:
        return i, torch.sin(torch.arange(8.0) * i)


def main(directory: str) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    first, step = 0, 0
    path = os.path.join(directory, "checkpoint.pt")
    if os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first, step = saved["epoch"], saved["step"]
    for epoch in range(first, EPOCHS):
        shuffle = torch.Generator().manual_seed(epoch)
        for ids, x in DataLoader(Numbers(), batch_size=8, shuffle=True, generator=shuffle):
            loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            bivouac.record(ids, model.state_dict(), step=step, epoch=epoch, loss=loss.item())
            if step % SAVE_EVERY == 0:
                saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**saved, "epoch": epoch, "step": step}, path + ".tmp")
                os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main(sys.argv[1])
