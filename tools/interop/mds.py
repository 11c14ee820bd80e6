"""Datasets of MosaicML Streaming whose states Bivouac goes on from, and the other way round.

A case is a directory with case.json: the shards, the arguments of the dataset, a state, the
world that goes on from it, and for each rank of that world the ids of the rest of the epoch
and of the next one. Shards may have no samples: MDSWriter writes such a shard when the first
sample exceeds its limit. In a world of one rank, a StreamingDataLoader makes the state and
the ids; in a larger one, the function that every rank of a StreamingDataset calls.
See proof/interop/streaming.go.

mds.py write DIR SEED CASES: streaming writes cases.
mds.py read DIR: streaming goes on from the states of Bivouac's cases.
"""

import json
import logging
import os
import random
import shutil
import sys
import tempfile
import traceback
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.ERROR)
os.environ["PYTHONWARNINGS"] = "ignore"  # of the process that frees shared memory in the end

from multiprocessing import resource_tracker

from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
from streaming.base.batching import generate_work
from streaming.base.util import clean_stale_shared_memory
from streaming.base.world import World

EPOCHS = 2  # of the rest: that of the state, and the next one


def write_shards(dir, shards):
    """An MDS dataset of those shards; a sample is its id."""
    with MDSWriter(out=dir, columns={"id": "int"}) as w:
        i = 0
        for size in shards:
            for _ in range(size):
                w.write({"id": i})
                i += 1
            w.flush_shard()
            w._reset_cache()
    with open(os.path.join(dir, "index.json")) as f:
        made = [s["samples"] for s in json.load(f)["shards"]]
    assert made[:len(shards)] == shards and not sum(made[len(shards):]), (made, shards)
    return made


class Data:
    """The dataset of a case on disk, opened as often as asked for."""

    def __init__(self, case):
        self.case, self.dirs, self.opened = case, [], []
        self.source = self.dir()
        case["shards"] = write_shards(os.path.join(self.source, "x"), case["shards"])

    def dir(self):
        self.dirs.append(tempfile.mkdtemp(prefix="interop-streaming"))
        return self.dirs[-1]

    def dataset(self):
        if self.opened:  # streaming refuses a second dataset over one directory
            copied = self.dir()
            shutil.copytree(os.path.join(self.source, "x"), os.path.join(copied, "x"))
            self.opened.append(copied)
        else:
            self.opened.append(self.source)
        a = self.case["dataset"]
        return StreamingDataset(local=os.path.join(self.opened[-1], "x"), shuffle=a["shuffle"], shuffle_algo=a["algo"], shuffle_seed=a["seed"],
                                num_canonical_nodes=a["canonical_nodes"], shuffle_block_size=a["block"], batch_size=self.case["batch"])

    def loader(self):
        w = self.case["world"]["workers"]
        return StreamingDataLoader(self.dataset(), batch_size=self.case["batch"], num_workers=w, collate_fn=lambda rows: [[r["id"] for r in rows]])

    def close(self):
        for d in self.dirs:
            shutil.rmtree(d, ignore_errors=True)
        clean_stale_shared_memory()


def apart(do):
    """Runs do in a process of its own, for a dataset keeps its files and shared memory open."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 2
    try:
        status = do()
    except BaseException:  # noqa: BLE001: the parent must not go on in the child
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)


def ids_of(loader):
    return [i for batch in loader for i in batch[0]]


def ranks_of(work):
    """The ids of each rank: the batches of its workers in turn."""
    nodes, ranks = work.shape[:2]
    return [[int(i) for i in work[n, r].transpose(1, 0, 2).flatten() if i >= 0] for n in range(nodes) for r in range(ranks)]


def alone(world):
    return world["nodes"] == world["ranks"] == 1


def resumed(case, data):
    """By epoch and rank, what a new dataset gives from the state."""
    world, state = case["world"], case["state"]
    if alone(world):
        loader = data.loader()
        loader.load_state_dict(state)
        return [[ids_of(loader)] for _ in range(EPOCHS)]
    d, rest = data.dataset(), []
    d.load_state_dict(state)
    w = World(world["nodes"], world["ranks"], max(world["workers"], 1), 0)
    epoch, seen = d._resume(w, state["epoch"])
    for _ in range(EPOCHS):
        rest.append(ranks_of(generate_work("random", d, w, epoch, seen)))
        epoch, seen = epoch + 1, 0
    return rest


def random_case(r):
    shards = [r.choice([0, 0, r.randrange(1, 30), r.randrange(1, 30), r.randrange(1, 30)]) for _ in range(r.randrange(1, 8))]
    if not sum(shards):
        shards.append(r.randrange(1, 30))
    algo = r.choice(["naive", "py1s", "py2s", "py1br", "py1e"])
    dataset = {"shuffle": r.random() < 0.9, "algo": algo, "seed": r.choice([9176, r.randrange(1 << 32)]), "canonical_nodes": r.choice([None, 1, 2, 4]), "block": r.choice([None, 8, 40, 300])}
    world = {"nodes": 1, "ranks": 1, "workers": r.choice([0, 0, 0, 1, 2])}
    if r.random() < 0.7:
        world = {"nodes": r.choice([1, 2, 4]), "ranks": r.choice([1, 2, 3]), "workers": r.choice([1, 2, 3])}
    return {"shards": shards, "dataset": dataset, "batch": r.randrange(1, 5), "world": world, "epochs": r.randrange(2), "after": r.randrange(8)}


def state_of(case, data):
    """A state in the middle of an epoch, and what was given of the epoch before it."""
    if alone(case["world"]):
        loader = data.loader()
        for _ in range(case["epochs"]):
            ids_of(loader)
        it, before = iter(loader), []
        for _ in range(case["after"]):  # 0: a state from before the first batch of the epoch
            batch = next(it, None)
            if batch is None:
                break
            before += batch[0]
        return loader.state_dict(), [before]
    # The run begins with the nodes that it goes on with, or half or twice as many.
    d, world = data.dataset(), case["world"]
    nodes = case["nodes_before"]
    w = World(nodes, world["ranks"], max(world["workers"], 1), 0)
    d._resume(w, 0)
    before = ranks_of(generate_work("random", d, w, case["epochs"], 0))
    share = case["after"] * case["batch"]
    seen = min(share * nodes * world["ranks"], sum(map(len, before)))
    return {"epoch": case["epochs"], "sample_in_epoch": seen, "num_canonical_nodes": d.num_canonical_nodes, "shuffle_seed": d.shuffle_seed, "initial_physical_nodes": nodes}, [ids[:share] for ids in before]


def write_case(dir, r):
    case = random_case(r)
    case["nodes_before"] = case["world"]["nodes"] if alone(case["world"]) else r.choice([1, 2, 4])
    data = Data(case)
    try:
        case["state"], case["before"] = state_of(case, data)
        case["rest"] = resumed(case, data)
    except (ValueError, IndexError, AssertionError, AttributeError, TypeError, ZeroDivisionError) as e:
        case["refused"] = repr(e)
    finally:
        data.close()
    os.makedirs(dir)
    with open(os.path.join(dir, "case.json"), "w") as f:
        json.dump(case, f)
    return 1 if "refused" in case else 0


def write(root, seed, cases):
    statuses = [apart(lambda i=i: write_case(os.path.join(root, f"{i:03d}"), random.Random(f"streaming {seed} {i}"))) for i in range(cases)]
    print(f"streaming: {cases} datasets written, {statuses.count(1)} of them with a refusal")
    return 0 if max(statuses) < 2 and min(statuses) >= 0 else 1


def read_case(dir):
    with open(os.path.join(dir, "case.json")) as f:
        case = json.load(f)
    data = Data(case)
    try:
        rest = resumed(case, data)
    except Exception as e:  # noqa: BLE001: a refusal is a difference
        rest = repr(e)
    finally:
        data.close()
    if rest != case["rest"]:
        print(f"DIFFERENCE {dir}: streaming goes on with {str(rest)[:300]}, Bivouac with {str(case['rest'])[:300]}")
        return 1
    return 0


def read(root):
    names = sorted(os.listdir(root))
    failed = sum(apart(lambda n=n: read_case(os.path.join(root, n))) != 0 for n in names)
    print(f"streaming goes on from Bivouac: {len(names)} datasets, {failed} differences")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    clean_stale_shared_memory()
    resource_tracker.ensure_running()  # one for all children
    sys.exit(write(sys.argv[2], *map(int, sys.argv[3:])) if sys.argv[1] == "write" else read(sys.argv[2]))
