"""Loaders of torchdata whose states Bivouac goes on from, and the other way round.

A case is a directory with case.json: the data set, the arguments, how many batches were
taken, the state after them, and the batches of three epochs of a new loader that goes on
from it: the rest of that epoch and the next ones. States pass through files of torch.save
and tools/torchdata/state.py, the first as its command, the others as its functions.
See proof/interop/loaders.go.

loaders.py write DIR SEED CASES: torchdata writes cases.
loaders.py read DIR: torchdata goes on from the states of Bivouac's cases.
"""

import json
import logging
import os
import random
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
CONVERTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torchdata", "state.py")
sys.path.insert(0, os.path.dirname(CONVERTER))

import state as converter
import torch
from torch.utils.data import Dataset, IterableDataset, WeightedRandomSampler, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import RandomSampler, StatefulDistributedSampler


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Stream(IterableDataset):
    """Item i, i+W, ... of worker i of W; its iterator has the state {"i": items given}."""

    def __init__(self, n, stateful):
        self.n, self.stateful = n, stateful

    def __iter__(self):
        w = get_worker_info()
        ids = range(w.id, self.n, w.num_workers) if w else range(self.n)
        return Place(ids) if self.stateful else iter([i for i in ids])


class Place:
    def __init__(self, ids):
        self.ids, self.i = ids, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= len(self.ids):
            raise StopIteration
        self.i += 1
        return self.ids[self.i - 1]

    def state_dict(self):
        return {"i": self.i}

    def load_state_dict(self, s):
        self.i = s["i"]


def loader(case):
    """The loader of a case, anew."""
    torch.manual_seed(case["global_seed"])
    d, a = case["dataset"], dict(case["loader"])
    s, n = a.pop("sampler", None), d["n"]
    own = lambda: torch.Generator().manual_seed(s["seed"])
    if s:
        a["sampler"] = {
            "random": lambda: RandomSampler(range(n), s["replacement"], s["num_samples"], own()),
            "distributed": lambda: StatefulDistributedSampler(range(n), s["num_replicas"], s["rank"], True, s["seed"], s["drop_last"]),
            "weighted": lambda: WeightedRandomSampler(s["weights"], s["num_samples"], True, generator=own()),
        }[s["kind"]]()
    if "generator_seed" in a:
        a["generator"] = torch.Generator().manual_seed(a.pop("generator_seed"))
    if a["batch_size"] is None:
        a["collate_fn"] = lambda x: x
    return StatefulDataLoader(Squares(n) if d["kind"] == "map" else Stream(n, d["stateful"]), **a)


def plain(batch):
    return batch.tolist() if isinstance(batch, torch.Tensor) else [batch]


def take(it, most=None):
    out = []
    while most is None or len(out) < most:
        try:
            out.append(plain(next(it)))
        except StopIteration:
            break
    return out


def random_case(r):
    n, kind = r.randrange(1, 60), r.choice(["map", "map", "iter"])
    a = {"batch_size": r.choice([None, 1, 2, 3, 5, 64]), "num_workers": r.choice([0, 0, 1, 2, 3])}
    if a["batch_size"]:
        a["drop_last"] = r.random() < 0.3
    if a["num_workers"]:
        a["snapshot_every_n_steps"] = r.choice([1, 1, 2, 3, 7])
        a["prefetch_factor"] = r.choice([1, 2, 4])
        a["persistent_workers"] = r.random() < 0.3
    d = {"kind": kind, "n": n}
    if kind == "iter":
        d["stateful"] = r.random() < 0.6
    elif r.random() < 0.5:
        a["shuffle"] = True
        if r.random() < 0.7:
            a["generator_seed"] = r.getrandbits(62)
    elif r.random() < 0.6:
        seed = r.getrandbits(40)
        a["sampler"] = r.choice([
            {"kind": "random", "replacement": r.random() < 0.5, "num_samples": r.randrange(1, 100), "seed": seed},
            {"kind": "distributed", "num_replicas": 3, "rank": r.randrange(3), "drop_last": r.random() < 0.5, "seed": seed},
            {"kind": "weighted", "weights": [r.choice([0.5, 1.0, 2.25]) for _ in range(n)], "num_samples": r.randrange(1, 50), "seed": seed},
        ])
    # torchdata skips again what its distributed sampler gave in the epoch before
    epochs = 0 if a.get("sampler", {}).get("kind") == "distributed" else r.randrange(2)
    return {"dataset": d, "loader": a, "global_seed": r.getrandbits(32), "epochs": epochs, "after": r.randrange(20)}


def converted(dir, state, command):
    """The state as it comes out of the converter."""
    file = os.path.join(dir, "state")
    to_json = command == "to-json"
    if os.path.basename(dir) == "000":
        source, target = (file + ".pt", file + ".json") if to_json else (file + ".json", file + ".pt")
        if to_json:
            torch.save({"trainer": {"dataloader": state}}, source)
        else:
            with open(source, "w") as f:
                json.dump(state, f)
        subprocess.run([sys.executable, CONVERTER, command, source, target, "--key", "trainer.dataloader"], check=True)
        if not to_json:
            return torch.load(target)["trainer"]["dataloader"]
        with open(target) as f:
            return json.load(f)
    if to_json:
        torch.save(state, file + ".pt")
        return json.loads(json.dumps(converter.encode(torch.load(file + ".pt"))))
    torch.save(converter.decode(state), file + ".pt")
    return torch.load(file + ".pt")


def resumed(case, state):
    made = loader(case)
    made.load_state_dict(state)
    return [take(iter(made)) for _ in range(3)]


def write(root, seed, cases):
    for i in range(cases):
        case = random_case(random.Random(f"loader {seed} {i}"))
        dir = os.path.join(root, f"{i:03d}")
        os.makedirs(dir)
        made = loader(case)
        for _ in range(case["epochs"]):
            take(iter(made))
        it = iter(made)
        take(it, case["after"])
        state = made.state_dict()
        case["state"] = converted(dir, state, "to-json")
        del it, made
        case["rest"] = resumed(case, state)
        with open(os.path.join(dir, "case.json"), "w") as f:
            json.dump(case, f)
    print(f"torchdata: {cases} loaders written")
    return 0


def read(root):
    failed, names = 0, sorted(os.listdir(root))
    for name in names:
        dir = os.path.join(root, name)
        with open(os.path.join(dir, "case.json")) as f:
            case = json.load(f)
        try:
            rest = resumed(case, converted(dir, case["state"], "from-json"))
        except Exception as e:  # noqa: BLE001: a refusal is a difference
            rest = repr(e)
        if rest != case["rest"]:
            failed += 1
            print(f"DIFFERENCE {dir}: torchdata goes on with {str(rest)[:300]}, Bivouac with {str(case['rest'])[:300]}")
    print(f"torchdata goes on from Bivouac: {len(names)} loaders, {failed} differences")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(write(sys.argv[2], *map(int, sys.argv[3:])) if sys.argv[1] == "write" else read(sys.argv[2]))
