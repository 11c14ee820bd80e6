"""Random graphs of torchdata.nodes that Bivouac plays, and the other way round.

A case is a directory with case.json: the graph, what its loader gives and the state before
each of these events, and the place at which the loader is interrupted. The other side plays
the graph and must give the same events with the same states. A new loader of it then goes on
from the state at the place, and must give what comes after it.

torchdata does not always go on as it would have without the interruption; see
docs/compat/torchdata.md. Such places are counted, and Bivouac is held against the run that
was not interrupted; but where the state lacks what is needed, against torchdata. See
proof/interop/nodes.go.

nodes.py write DIR SEED CASES: torchdata writes cases.
nodes.py read DIR: torchdata plays Bivouac's cases.
"""

import json
import logging
import os
import random
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torchdata"))

import state as converter
import torch
import torchdata.nodes as nodes
from torch.utils.data import DistributedSampler, SequentialSampler
from torchdata.stateful_dataloader.sampler import RandomSampler

EVENTS, REST, ENDS = 120, 40, 5
END = "end"


class Counter:
    """Counts on where its state says, and begins again once it has come to its end."""

    def __init__(self, start, n):
        self.start, self.n, self.i = start, n, 0

    def __iter__(self):
        while self.i < self.n:
            self.i += 1
            yield self.start + self.i - 1
        self.i = 0

    def state_dict(self):
        return {"i": self.i}

    def load_state_dict(self, s):
        self.i = s["i"]


def double(x):
    return [double(v) for v in x] if isinstance(x, list) else 2 * x


def ids(d):
    data = range(d["n"])
    return {
        "sequential": lambda: SequentialSampler(data),
        "random": lambda: RandomSampler(data, generator=torch.Generator().manual_seed(d["seed"])),
        "distributed": lambda: DistributedSampler(data, 2, 1, True, d["seed"]),
    }[d["sampler"]]()


class Table:
    def __init__(self, start):
        self.start = start

    def __getitem__(self, i):
        return self.start + i


def build(d):
    kind = d["kind"]
    if kind == "iterable":
        return nodes.IterableWrapper(Counter(d["start"], d["n"]) if d["stateful"] else range(d["start"], d["start"] + d["n"]))
    if kind == "sampler":
        return nodes.SamplerWrapper(ids(d))
    if kind == "mapstyle":
        return nodes.MapStyleWrapper(Table(d["start"]), ids(d))
    if kind == "weighted":
        return nodes.MultiNodeWeightedSampler(
            {s["name"]: build(s["node"]) for s in d["sources"]}, {s["name"]: float(s["weight"]) for s in d["sources"]},
            stop_criteria=d["stop"], rank=d["rank"], world_size=d["world"], seed=d["seed"])
    below = build(d["source"])
    if kind == "map":
        return nodes.Mapper(below, double)
    if kind == "parallel":
        return nodes.ParallelMapper(below, double, d["workers"], True, "thread", snapshot_frequency=d["every"], prebatch=d["prebatch"] or None)
    if kind == "prefetch":
        return nodes.Prefetcher(below, d["factor"], d["every"])
    if kind == "batch":
        return nodes.Batcher(below, d["size"], d["drop"])
    return nodes.Unbatcher(below)


def play(loader, most, states=None):
    """The events of a loader, with the state before each and behind the last."""
    events, it, ends = [], iter(loader), 0
    while len(events) < most and ends < ENDS:
        if states is not None:
            states.append(converter.encode(loader.state_dict()))
        try:
            events.append(next(it))
            continue
        except StopIteration:
            events.append(END)
            ends += 1
        if len(events) < most and ends < ENDS:
            if states is not None:
                states.append(converter.encode(loader.state_dict()))
                events.append("begin")
            it = iter(loader)
    return events


def resumed(case, state):
    loader = nodes.Loader(build(case["graph"]))
    loader.load_state_dict(converter.decode(state))
    return play(loader, REST)


def rest(events, at):
    """What a loader gives that goes on at a place: the end of an epoch is the beginning of the next one."""
    left = [e for e in events[at:] if e != "begin"]
    return left[1:] if left[:1] == [END] else left


def forgets(d):
    """Whether the state of a graph lacks a generator, so that a later epoch cannot be resumed."""
    return d.get("sampler") == "random" or any(forgets(b) for b in [d.get("source")] + [s["node"] for s in d.get("sources", [])] if b)


def agree(a, b):
    """Whether two runs agree as far as both go."""
    n = min(len(a), len(b))
    return a[:n] == b[:n]


def random_graph(r, depth, start=0, below=""):
    """A graph, below a weighted node, below one that reads ahead in it, or below an Unbatcher.

    Weighted nodes break epochs off. A random sampler and an iterable with a state stay where
    they are then; a source without values ends their epoch, in torchdata; and whether a node counts an epoch of which nothing was taken depends on
    whether something above has read ahead. The state of an Unbatcher at the end of an epoch
    does not bear an iterable that has gone back to its beginning by itself."""
    if depth == 0 or r.random() < 0.15:
        kind, n = r.choice(["iterable"] if below == "ahead" else ["iterable", "iterable", "sampler", "mapstyle"]), r.randrange(1, 13)
        if kind == "iterable":
            return {"kind": kind, "n": n, "start": start, "stateful": not below and r.random() < 0.5}
        return {"kind": kind, "n": n, "start": start, "sampler": r.choice(["sequential", "random", "distributed"] if not below else ["sequential", "distributed"]), "seed": r.getrandbits(40)}
    kind = r.choice(["map", "parallel", "prefetch", "batch", "unbatch"] + ["weighted", "weighted"] * (below != "ahead"))
    if below and kind in ("parallel", "prefetch"):
        below = "ahead"
    if kind == "weighted":
        stop = ["CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED", "ALL_DATASETS_EXHAUSTED", "FIRST_DATASET_EXHAUSTED", "CYCLE_FOREVER"]
        world = r.choice([1, 1, 3])
        return {
            "kind": kind, "stop": r.choice(stop[:3] + stop), "seed": r.getrandbits(20), "rank": r.randrange(world), "world": world,
            "sources": [{"name": "abc"[i], "weight": r.choice([0.1, 0.5, 1.0, 2.25]), "node": random_graph(r, depth - 1, start + 100 * (i + 1), "weighted")} for i in range(r.randrange(1, 4))],
        }
    if kind == "unbatch":
        return {"kind": kind, "source": {"kind": "batch", "size": r.randrange(1, 5), "drop": not below and r.random() < 0.3, "source": random_graph(r, depth - 1, start, below or "unbatch")}}
    d = {"kind": kind, "source": random_graph(r, depth - 1, start, below)}
    if kind == "parallel":
        d.update(workers=r.randrange(3), every=r.choice([1, 1, 2, 3, 7]), prebatch=r.choice([0, 0, 0, 1, 2, 3]))
    elif kind == "prefetch":
        d.update(factor=r.randrange(1, 4), every=r.choice([1, 1, 2, 3, 7]))
    elif kind == "batch":
        d.update(size=r.randrange(1, 5), drop=not below and r.random() < 0.3)
    return d


def write(root, seed, cases):
    itself = 0
    for i in range(cases):
        r = random.Random(f"nodes {seed} {i}")
        case = {"graph": random_graph(r, r.randrange(4)), "states": []}
        dir = os.path.join(root, f"{i:03d}")
        os.makedirs(dir)
        case["events"] = play(nodes.Loader(build(case["graph"])), EVENTS, case["states"])
        case["at"] = r.randrange(min(len(case["states"]), EVENTS - REST))
        own, case["rest"] = resumed(case, case["states"][case["at"]]), rest(case["events"], case["at"])
        itself += not agree(own, case["rest"])
        if forgets(case["graph"]):
            case["rest"] = own
        with open(os.path.join(dir, "case.json"), "w") as f:
            json.dump(case, f)
    print(f"torchdata: {cases} graphs of nodes written; it goes on otherwise than it would have in {itself}")
    return 0


def bare(state):
    return {k: v for k, v in state.items() if k not in ("checksum", "ended")}


def read(root):
    failed, itself, names = 0, 0, sorted(os.listdir(root))
    for name in names:
        dir = os.path.join(root, name)
        with open(os.path.join(dir, "case.json")) as f:
            case = json.load(f)
        states, at, problem = [], case["at"], ""
        try:
            events = play(nodes.Loader(build(case["graph"])), EVENTS, states)
            if events != case["events"]:
                i = next(i for i, (a, b) in enumerate(zip(events + [None], case["events"] + [None])) if a != b)
                problem = f"event {i} is {str(events[i:i+3])[:200]}, of Bivouac {str(case['events'][i:i+3])[:200]}"
            elif states != [bare(s) for s in case["states"]]:
                i = next(i for i, (a, b) in enumerate(zip(states, case["states"])) if a != bare(b))
                problem = f"state {i} is {short(states[i])}, of Bivouac {short(case['states'][i])}"
            else:
                own = resumed(case, states[at])
                right = agree(own, rest(events, at))
                itself += not right
                if (forgets(case["graph"]) or right) and not agree(own, case["rest"]):
                    problem = f"it goes on from state {at} with {str(own)[:200]}, Bivouac with {str(case['rest'])[:200]}"
                elif resumed(case, case["states"][at]) != own:
                    problem = f"it goes on from Bivouac's state {at} otherwise than from its own"
        except Exception as e:  # noqa: BLE001: a refusal is a difference
            problem = repr(e)[:500]
        if problem:
            failed += 1
            print(f"DIFFERENCE {dir}: torchdata: {problem}")
    print(f"torchdata plays Bivouac's nodes: {len(names)} graphs, {failed} differences; it goes on otherwise than it would have in {itself}")
    return 1 if failed or not names else 0


def short(state):
    text = json.dumps(state, sort_keys=True)
    return (text[:400] + "…") if len(text) > 400 else text


if __name__ == "__main__":
    sys.exit(write(sys.argv[2], *map(int, sys.argv[3:])) if sys.argv[1] == "write" else read(sys.argv[2]))
