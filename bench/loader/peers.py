"""torch's DataLoader, StatefulDataLoader, Grain and streaming as sides of bench/loader.

Reads one request a line (JSON: op, who, case) and answers with one line beginning
"ANSWER ". "begin" builds what the case needs, "go" runs it once and says how many
units it made in how many seconds, by this process's clock.
"""
import importlib.metadata
import json
import sys
import time

SAMPLES = 256_000


class Ids:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i


def forever(make):
    """Batches, epoch after epoch."""
    while True:
        yield from make()


def reading(make, count, after=lambda: None):
    batches = forever(make)

    def go():
        seen = 0
        for _ in range(count):
            b = next(batches)
            seen ^= int(b[0])
            after()
        return count, seen
    return go


# --------------------------------------------------------------------- torch
def torch_side(who, case):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if case == "indices":
        def perm():
            p = torch.randperm(10_000_000)
            return 10_000_000, int(p[0])
        return perm
    if who == "torch":
        from torch.utils.data import DataLoader as Loader
    else:
        from torchdata.stateful_dataloader import StatefulDataLoader as Loader
    kind, _, size = case.partition("-")
    if kind in ("batch", "workers"):
        workers = 2 if kind == "workers" else 0
        options = dict(batch_size=int(size), shuffle=True, num_workers=workers)
        if workers:
            options["persistent_workers"] = True
        loader = Loader(Ids(SAMPLES), **options)
        count = {1: 3000, 64: 1000, 1024: 200}[int(size)]
        after = (lambda: loader.state_dict()) if who.endswith("states") else (lambda: None)
        return reading(lambda: iter(loader), count, after)
    if kind == "state":
        loader = Loader(Ids(2_000_000), batch_size=1000, shuffle=True)
        batches = iter(loader)
        for _ in range(100):
            next(batches)

        def state():
            for _ in range(300):
                loader.state_dict()
            return 300, 0
        return state
    loader = Loader(Ids(10 ** int(size)), batch_size=100, shuffle=True)
    batches = iter(loader)
    for _ in range(10_000):
        next(batches)
    saved = loader.state_dict()

    def resume():
        again = Loader(Ids(10 ** int(size)), batch_size=100, shuffle=True)
        again.load_state_dict(saved)
        return 1, int(next(iter(again))[0])
    return resume


# --------------------------------------------------------------------- Grain
def grain_side(who, case):
    import grain
    kind, _, size = case.partition("-")
    if kind == "batch":
        data = grain.MapDataset.range(SAMPLES).shuffle(seed=1).batch(int(size))
        if who == "grain-iterator":
            return reading(lambda: iter(data.to_iter_dataset()), 300)
        count = {1: 3000, 64: 500, 1024: 30}[int(size)]
        return reading(lambda: (data[i] for i in range(len(data))), count)
    if kind == "state":
        batches = iter(grain.MapDataset.range(2_000_000).shuffle(seed=1).batch(1000).to_iter_dataset())
        for _ in range(3):
            next(batches)

        def state():
            for _ in range(2000):
                batches.get_state()
            return 2000, 0
        return state
    if kind == "resume":
        n = 10 ** int(size)

        def resume():
            batches = iter(grain.MapDataset.range(n).shuffle(seed=1).batch(100).to_iter_dataset())
            batches.set_state({"next_index": n // 200})
            return 1, int(next(batches)[0])
        return resume
    data = grain.MapDataset.range(10 ** 9).shuffle(seed=1)

    def index():
        seen = 0
        for i in range(50_000):
            seen ^= int(data[i])
        return 50_000, seen
    return index


# ----------------------------------------------------------------- streaming
def streaming_side(_who, case):
    # What StreamingDataset computes before its first sample, and the first rank's
    # first batch, as in streaming.go: 8 nodes of 8 ranks with 2 workers, batches of 64.
    import numpy as np
    from streaming.base.partition import get_partitions
    from streaming.base.shuffle import get_shuffle
    algorithm, _, size = case.partition("-")
    n, shard, batch = 10 ** int(size), 10_000, 8 * 8 * 64
    sizes = np.full(n // shard, shard, np.int64)
    seen = n // 2 // batch * batch
    epoch = 0

    def resume():
        nonlocal epoch
        parts = get_partitions("relaxed", n, 64, 8, 8, 2, 64, seen, 8)
        ids = get_shuffle(algorithm, sizes, 64, 9176, epoch, 1 << 18)
        order = np.where(parts != -1, ids[parts], -1)
        epoch += 1
        return 1, int(np.dot(order[0, 0, 0, 0], np.arange(1, 65)))
    return resume


SIDES = {"torch": torch_side, "stateful": torch_side, "stateful-states": torch_side, "grain": grain_side,
         "grain-iterator": grain_side, "streaming": streaming_side}


def versions():
    has = {}
    for package, sides in {"torch": ["torch"], "torchdata": ["stateful", "stateful-states"], "grain": ["grain", "grain-iterator"],
                           "mosaicml-streaming": ["streaming"]}.items():
        try:
            for s in sides:
                has[s] = package + " " + importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return has


def main():
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "versions":
                answer = {"versions": versions()}
            elif request["op"] == "begin":
                run = SIDES[request["who"]](request["who"], request["case"])
                answer = {}
            else:
                start, cpu = time.perf_counter(), time.process_time()
                units, digest = run()
                answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "units": units, "digest": digest & (1 << 63) - 1}
        except Exception as e:  # the table says why
            answer = {"error": f"{type(e).__name__}: {e}"[:200]}
        print("ANSWER " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
