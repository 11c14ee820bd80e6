"""A torch loop with torchdata's StatefulDataLoader, whose state is saved with the model.

bivouac crashtest -- python torchdata_loop.py {dir}
bivouac crashtest -- python torchdata_loop.py {dir} --workers 2 --workers-after 3
bivouac crashtest -- python torchdata_loop.py {dir} --workers 2 --workers-after 3 --begin-again

With the same number of workers nothing is lost. With another number after a kill, torchdata refuses
its state, and the job ends. If the job then begins its epoch again without the state, samples are
repeated, and others are not reached.
"""

import argparse
import os

import bivouac
import torch
from plain_torch import SAVE_EVERY, Numbers
from torchdata.stateful_dataloader import StatefulDataLoader

STEPS = 80


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--workers-after", type=int, default=None)
    parser.add_argument("--begin-again", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    path = os.path.join(args.directory, "checkpoint.pt")
    saved = torch.load(path) if os.path.exists(path) else None
    workers = args.workers
    if saved and args.workers_after is not None:
        workers = args.workers_after
    loader = StatefulDataLoader(Numbers(), batch_size=8, shuffle=True, num_workers=workers)
    step = 0
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if workers == args.workers or not args.begin_again:
            loader.load_state_dict(saved["loader"])
        step = saved["step"]
    while step < STEPS:
        for ids, x in loader:
            loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            bivouac.record(ids, model.state_dict(), step=step, loss=loss.item())
            if step % SAVE_EVERY == 0:
                saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**saved, "loader": loader.state_dict(), "step": step}, path + ".tmp")
                os.replace(path + ".tmp", path)
            if step == STEPS:
                break


if __name__ == "__main__":
    main()
