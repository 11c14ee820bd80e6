"""Programs of dynamic mode that one side stops and the other goes on with.

A case is a directory with data, state_000.json, the file of a Checkpoint, and truth.json: the
arguments of the reader, and what the program delivers, batch by batch, from the
beginning. See proof/interop/dynamic.go.
"""

import json
import os
import random

import numpy as np
from pipelines import each_case

PATTERN = "state_{seq:03d}.json"


class Program:
    """A reader and two generators in a checkpoint."""

    def __init__(self, truth, resumed):
        import nvidia.dali.experimental.dynamic as ndd

        self.ndd, self.batch = ndd, truth["batch"]
        seeds = [0, 0] if resumed else truth["seeds"]
        self.reader = ndd.readers.File(file_root="data", **truth["args"])
        self.first, self.second = (ndd.random.RNG(seed=s) for s in seeds)
        self.checkpoint = ndd.checkpoint.Checkpoint()
        if resumed:
            self.checkpoint.load(PATTERN)
        self.checkpoint.register(self.reader, "reader")
        self.checkpoint.register(self.first)
        self.checkpoint.register(self.second, "gén")

    def epoch(self):
        """What each batch of an epoch holds, with random numbers."""
        sizes = {"batch_size": self.batch} if self.batch else {}
        for files, labels in self.reader.next_epoch(batch_size=self.batch):
            number = lambda t: int(bytes(np.asarray(t.cpu())))  # noqa: E731
            drawn = self.ndd.random.uniform(range=[0.0, 1.0], rng=self.first, **sizes)
            bits = lambda t: int(np.asarray(t.cpu()).view(np.uint32))  # noqa: E731
            yield {
                "files": [number(t) for t in files] if self.batch else [number(files)],
                "labels": [int(np.asarray(t.cpu())[0]) for t in labels] if self.batch else [int(np.asarray(labels.cpu())[0])],
                "uniform": [bits(t) for t in drawn] if self.batch else [bits(drawn)],
                "number": int(self.second()),
            }


def data(samples):
    for k in range(samples):
        os.makedirs(f"data/c{k * 3 // samples}", exist_ok=True)
        with open(f"data/c{k * 3 // samples}/f{k:05d}.jpg", "w") as f:
            f.write(f"{k:07d}")


def arguments(r, samples):
    a = {}
    kind = r.randrange(4)
    if kind < 2:
        a.update(random_shuffle=True, initial_fill=r.randint(1, 8), seed=r.randrange(1000))
    elif kind == 2:
        a.update(shuffle_after_epoch=True)
        if r.random() < 0.5:
            a.update(shuffle_after_epoch_seed=r.randrange(1000))
    if r.random() < 0.5:
        n = r.randint(1, min(4, samples))
        a.update(num_shards=n, shard_id=r.randrange(n))
    if kind != 2 and r.random() < 0.4:
        a.update(stick_to_shard=True)
    if r.random() < 0.4:
        a.update(pad_last_batch=True)
    return a


def write_case(r):
    samples = r.randint(4, 25)
    data(samples)
    truth = {"samples": samples, "args": arguments(r, samples), "batch": r.choice([None, 1, 2, 3, 5]), "seeds": [r.getrandbits(63), r.getrandbits(31)]}
    p = Program(truth, resumed=False)
    epochs, after = r.randint(1, 3), None
    stream, ends = [], []
    for e in range(epochs + 2):
        for b in p.epoch():
            stream.append(b)
            if after is None and (e == epochs - 1 and r.random() < 0.4):
                after = len(stream)
                p.checkpoint.collect()
                p.checkpoint.save(PATTERN)
        ends.append(len(stream))
        if after is None and e == epochs - 1:
            after = len(stream)
            p.checkpoint.collect()
            p.checkpoint.save(PATTERN)
    q = Program(truth, resumed=True)
    restored = [list(q.epoch()), list(q.epoch())]
    truth.update(after=after, ends=ends, stream=stream, restored=restored)
    with open("truth.json", "w") as f:
        json.dump(truth, f)


def write(root, seed, n):
    for i in range(n):
        os.makedirs(os.path.join(root, f"{i:03d}"))
    order = iter(range(n))
    failed, _ = each_case(root, lambda: write_case(random.Random(seed * 1000 + next(order))))
    return failed


def read_case():
    """What differs between DALI and Bivouac, or None."""
    with open("truth.json") as f:
        truth = json.load(f)
    for resumed in (False, True):
        p = Program(truth, resumed)
        want = truth["stream"][truth["after"] if resumed else 0 :]
        got = []
        while len(got) < len(want):
            got.extend(p.epoch())
        for i, (a, b) in enumerate(zip(got, want)):
            if a != b:
                return f"{'resumed' if resumed else 'from the beginning'}, batch {i}: {a}, Bivouac gives {b}"
    return None


def read(root):
    failed, n = each_case(root, read_case)
    print(f"Bivouac's states of dynamic mode in DALI: {n - failed} of {n} equal")
    return failed
