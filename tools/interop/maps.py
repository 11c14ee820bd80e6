"""Random pipelines of Grain: what they give, their states, and what follows from these.

The cases are pipelines.json in the form of `go run ./internal/conform -suite grain DIR`, which
holds Bivouac against them: lengths, elements by index, an iterator with its states, which
must be equal both ways, and the rest from each recorded state. index_shuffle.json and
elastic.json are beside it.

maps.py DIR SEED PIPELINES
"""

import json
import os
import random
import signal
import sys
from importlib.metadata import version

import grain
import numpy as np
from grain import MapDataset
from grain import experimental as ge
from grain._src.python.experimental.index_shuffle.python.index_shuffle_module import index_shuffle

TAKE, FAR = 24, 1 << 40


def within(seconds, make):
    """What make gives, or None where it takes longer: an iterator over an endless dataset of
    nothing does not return, nor does the thread that reads ahead of it; so it has a process."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        with os.fdopen(into, "w") as f:
            json.dump(make(), f)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as f:
        text = f.read()
    return json.loads(text) if os.waitpid(child, 0)[1] == 0 else None


def plain(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return x.tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


FUNCTIONS = {
    "filter": lambda k: ({"params": ["x"], "fn": ["==", ["%", "x", 3], k % 3]}, lambda x: x % 3 == k % 3),
    "map": lambda k: ({"params": ["x"], "fn": ["+", ["*", "x", k], 1]}, lambda x: x * k + 1),
    "map_with_index": lambda k: ({"params": ["i", "x"], "fn": ["list", ["%", "i", 7], "x"]}, lambda i, x: [i % 7, x]),
    "random_map": lambda k: ({"params": ["x", "rng"], "fn": ["+", "x", ["rng.integers", 0, 1000]]}, lambda x, rng: x + int(rng.integers(0, 1000))),
}


def apply(ds, step):
    """A step of a tree on a dataset; functions stand as numbers of FUNCTIONS beside it."""
    name, args, kw = step[0], [a for a in step[1:] if not isinstance(a, dict)], next((a for a in step[1:] if isinstance(a, dict)), {})
    if name == "slice":
        return ds[slice(*args)]
    if name.startswith("ge."):
        return getattr(ge, name[3:])(ds, *args, **kw)
    return getattr(ds, name)(*args, **kw)


class Maker:
    """A random pipeline, made in Grain and written as a tree beside."""

    def __init__(self, r):
        self.r = r

    def numbers(self, endless=True):
        """A MapDataset of integers."""
        r = self.r
        if r.random() < 0.25:
            parents = [self.numbers(False) for _ in range(r.randint(1, 3))]
            name = r.choice(["concatenate", "mix", "mix"])
            ds, tree = self.join("MapDataset." + name, parents, getattr(MapDataset, name), name == "mix")
        else:
            n = r.choice([r.randint(1, 25), r.randint(200, 2000), r.randint(10000, 80000)])  # index_shuffle is slow where n is small
            ds, tree = MapDataset.range(n), [["MapDataset.range", n]]
        for _ in range(r.randint(0, 4)):
            step = self.step(endless)
            if step[0] in FUNCTIONS:
                form, fn = FUNCTIONS[step[0]](step[1])
                ds = getattr(ds, step[0])(fn, **(step[2] if len(step) > 2 else {}))
                tree.append([step[0], form, *step[2:]])
            else:
                ds = apply(ds, step)
                tree.append(step)
        return ds, tree

    def join(self, name, parents, make, weighted):
        arguments, kw = [[{"pipeline": tree} for _, tree in parents]], {}
        if weighted:
            kw["weights"] = [self.r.choice([1, 2, 0.5, 3]) for _ in parents]
        return make([ds for ds, _ in parents], **kw), [[name, *arguments, *([kw] if kw else [])]]

    def step(self, endless):
        r = self.r
        kind = r.randrange(9 if endless else 8)
        if kind == 0:
            return ["shuffle", {"seed": r.getrandbits(32)}]
        if kind == 1:
            return ["slice", r.choice([None, 1, 2, -5]), r.choice([None, None, 9, -1]), r.choice([None, 2, 3, -1])]
        if kind == 2:
            return ["filter", r.randrange(3)]
        if kind == 3:
            return ["map", r.randint(1, 9)]
        if kind == 4:
            return ["random_map", 0, {"seed": r.getrandbits(32)}]
        if kind == 5:
            return ["ge.WindowShuffleMapDataset", {"window_size": r.choice([r.randint(1, 9), r.randint(500, 5000)]), "seed": r.getrandbits(16)}]
        if kind == 8:
            return ["repeat"]
        return ["repeat", r.randint(1, 3)]

    def pipeline(self):
        r = self.r
        ds, tree = self.numbers()
        if r.random() < 0.5:
            for _ in range(r.randrange(3)):
                drop = len(ds) > 1 << 53 or r.random() < 0.5  # else Grain rounds the length through a float
                steps = [["batch", r.randint(1, 4), {"drop_remainder": drop}], ["repeat"], ["shuffle", {"seed": r.getrandbits(32)}]]
                step = steps[r.randrange(3)]
                ds, tree = apply(ds, step), [*tree, step]
            return ds, tree
        return self.iterator((ds, tree))

    def iterator(self, made=None, depth=2):
        r = self.r
        ds, tree = made or self.numbers(False)
        ds, tree = ds.to_iter_dataset(), [*tree, ["to_iter_dataset"]]
        if depth and r.random() < 0.4:
            parents = [(ds, tree)] + [self.iterator(depth=depth - 1) for _ in range(r.randint(1, 3))]
            if r.random() < 0.5:
                ds, tree = self.join("grain.IterDataset.mix", parents, grain.IterDataset.mix, True)
            else:
                cycle = r.randint(1, 3)
                ds = ge.InterleaveIterDataset([d for d, _ in parents], cycle_length=cycle)
                tree = [["ge.InterleaveIterDataset", [{"pipeline": t} for _, t in parents], {"cycle_length": cycle}]]
        for _ in range(r.randint(0, 2)):
            step = r.choice([["ge.LimitIterDataset", r.randint(1, 30)], ["ge.RepeatIterDataset", r.randint(1, 3)],
                             ["ge.WindowShuffleIterDataset", {"window_size": r.randint(1, 6), "seed": r.getrandbits(16)}]])
            ds, tree = apply(ds, step), [*tree, step]
        return ds, tree


def ended(it, n):
    out = []
    for _ in range(n):
        try:
            out.append(plain(next(it)))
        except StopIteration:
            return out, True
    return out, False


def pipeline(r):
    try:
        ds, tree = Maker(r).pipeline()
    except Exception:  # noqa: BLE001: Grain refuses it
        return None
    e = {"pipeline": "", "ast": tree, "core": False}
    try:
        it_ds = ds
        if isinstance(ds, MapDataset):
            n = len(ds)
            if n == 0:
                return None
            e["len"] = n if n < FAR else str(n)
            e["getitem"] = [plain(ds[i]) for i in range(min(2 * n, TAKE))]
            it_ds = ds.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
            if all(x is None for x in e["getitem"]):
                return None
        it = iter(it_ds)
        values, states = [], [plain(it.get_state())]
        for _ in range(TAKE):
            got, end = ended(it, 1)
            if end:
                e["stop"] = True
                break
            values += got
            states.append(plain(it.get_state()))
        e["values"], e["states"], e["resumed"] = values, states, []
        for k in sorted({0, len(values) // 2, r.randint(0, len(values)), len(values)}):
            again = iter(it_ds)
            again.set_state(json.loads(json.dumps(states[k])))
            rest, end = ended(again, len(values) - k + ("stop" in e))
            e["resumed"].append({"from": k, "equal_to_rest": rest == values[k:] and end == ("stop" in e)})
    except Exception:  # noqa: BLE001: what Grain cannot do is not compared
        return None
    return e


def shuffles(r, cases):
    out = []
    for _ in range(cases):
        n, seed, rounds = r.choice([r.randint(1, 300), r.randint(1, 1 << 20), r.randint(1, 1 << 62)]), r.getrandbits(32), r.choice([4, 6, 8])
        at = [r.randrange(n) for _ in range(4)]
        if rounds == 4:
            out.append({"n": str(n), "seed": seed, "rounds": 4, "at": [str(i) for i in at], "values": [str(index_shuffle(i, max_index=n - 1, seed=seed, rounds=4)) for i in at], "core": True})
        else:
            out.append({"call": {"index": at[0], "max_index": n - 1, "seed": seed, "rounds": rounds}, "value": index_shuffle(at[0], max_index=n - 1, seed=seed, rounds=rounds), "core": True})
    return out


def elastic(r, cases):
    out = []
    for _ in range(cases):
        count = r.choice([1, 2, 3, 4])
        e = {"n": r.randint(24, 60), "shuffle_seed": r.getrandbits(16), "repeat": r.randint(2, 3), "global_batch_size": count * r.randint(1, 3), "shard_count": count}

        def shard(i, of):
            ds = MapDataset.range(e["n"]).shuffle(seed=e["shuffle_seed"]).repeat(e["repeat"])
            return iter(ge.ElasticIterator(ds, e["global_batch_size"], grain.sharding.ShardOptions(i, of)))

        rows = []
        for i in range(count):
            it = shard(i, count)
            rows.append([plain(next(it)) for _ in range(3)])
            state = plain(it.get_state())
        e.update(first_3_batches_by_shard=rows, state_after_3=state, resumed=[], core=True)
        for of in (1, 2, 3, 4, 6):
            try:
                row = []
                for i in range(of):
                    it = shard(i, of)
                    it.set_state(state)
                    row.append(plain(next(it)))
                e["resumed"].append({"shard_count": of, "next_batch_by_shard": row})
            except ValueError as x:
                e["resumed"].append({"shard_count": of, "error": [type(x).__name__, str(x)]})
        out.append(e)
    return out


def main(root, seed, cases):
    os.makedirs(root, exist_ok=True)
    made, i = [], 0
    while len(made) < cases:
        e = within(10, lambda: pipeline(random.Random(f"grain {seed} {i}")))  # noqa: B023: called at once
        made, i = made + ([e] if e else []), i + 1
    r = random.Random(f"grain {seed}")
    for name, vectors in (("pipelines", made), ("index_shuffle", shuffles(r, cases)), ("elastic", elastic(r, max(cases // 10, 1)))):
        with open(os.path.join(root, name + ".json"), "w") as f:
            json.dump({"grain": version("grain"), "vectors": vectors}, f)
    print(f"Grain: {cases} pipelines written")


if __name__ == "__main__":
    from absl import flags, logging

    logging.set_verbosity(logging.ERROR)
    flags.FLAGS(["maps"])
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
