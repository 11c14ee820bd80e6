"""Replays the recorded scenarios of torchdata, and compares what each step does.

The rules are those of the Go suite: what `divergences.json` declares wrong is compared with what
it declares right.
"""

from __future__ import annotations

import copy
import gc
import itertools
import json
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import loader_scenes as scenes
import node_scenes
import numpy as np
import torch

COUNTS = [
    ("_num_yielded",),
    ("_sampler_iter_yielded",),
    ("_sampler_iter_state", "samples_yielded"),
    ("_snapshot", "_snapshot_step"),
    ("_snapshot", "_main_snapshot", "_sampler_iter_yielded"),
    ("_snapshot", "_main_snapshot", "_sampler_iter_state", "samples_yielded"),
]
KEPT = ("fast-forwarding", "Length of IterableDataset", "pin_memory")
STATELESS = ("iter", "iter_len")


def encode(x: Any) -> Any:
    """Return a value in a form that is compared."""
    if isinstance(x, torch.Tensor):
        raw = bytes(x.contiguous().reshape(-1).view(torch.uint8).tolist()) if x.numel() else b""
        return ("tensor", str(x.dtype)[6:], tuple(x.shape), raw.hex())
    if isinstance(x, np.ndarray):
        return ("numpy", str(x.dtype), x.shape, x.tobytes().hex())
    if isinstance(x, np.generic):
        return ("numpy_scalar", str(x.dtype), x.tobytes().hex())
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return ("namedtuple", type(x).__name__, {f: encode(getattr(x, f)) for f in x._fields})
    if isinstance(x, tuple):
        return ("tuple", [encode(v) for v in x])
    if isinstance(x, list):
        return [encode(v) for v in x]
    if isinstance(x, bytes):
        return ("bytes", x.hex())
    if isinstance(x, float):
        return ("float", x.hex())
    if isinstance(x, dict):
        return {k: encode(v) for k, v in x.items()}
    if isinstance(x, type):
        return {"object": "type"}
    return x


def decode(x: Any, blobs: dict[str, str]) -> Any:
    """Return a recorded value in the same form."""
    if isinstance(x, list):
        return [decode(v, blobs) for v in x]
    if not isinstance(x, dict):
        return x
    if "tensor" in x and "shape" in x:
        if "values" in x:
            dtype = getattr(torch, x["tensor"])
            return encode(torch.tensor(x["values"], dtype=dtype).reshape(x["shape"]))
        raw = x["hex"] if "hex" in x else blobs[x["blob"]]
        return ("tensor", x["tensor"], tuple(x["shape"]), raw)
    if "numpy" in x and "shape" in x:
        return ("numpy", x["numpy"], tuple(x["shape"]), x["hex"])
    if set(x) == {"numpy_scalar", "hex"}:
        return ("numpy_scalar", x["numpy_scalar"], x["hex"])
    if set(x) == {"namedtuple", "fields"}:
        return ("namedtuple", x["namedtuple"], decode(x["fields"], blobs))
    if set(x) == {"tuple"}:
        return ("tuple", [decode(v, blobs) for v in x["tuple"]])
    if set(x) == {"bytes"}:
        return ("bytes", x["bytes"])
    if set(x) == {"float"}:
        return ("float", x["float"])
    if set(x) == {"dict"}:
        return {k if not isinstance(k, list) else tuple(k): decode(v, blobs) for k, v in x["dict"]}
    return {k: decode(v, blobs) for k, v in x.items()}


def differences(got: Any, want: Any, path: str, ignored: set[str]) -> list[str]:
    """Return where two values differ."""
    if path in ignored:
        return []
    if isinstance(got, dict) and isinstance(want, dict):
        found = []
        for key in sorted({*got, *want}, key=str):
            if f"{path}/{key}" in ignored:
                continue
            if key not in got or key not in want:
                found.append(f"{path}/{key}: want {want.get(key)!r}, got {got.get(key)!r}")
                continue
            found += differences(got[key], want[key], f"{path}/{key}", ignored)
        return found
    if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        pairs = enumerate(zip(got, want, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}/{i}", ignored)]
    same = got == want and type(got) is type(want)
    return [] if same else [f"{path}: want {want!r}, got {got!r}"]


class Warnings(logging.Handler):
    """A handler that keeps the texts of log records."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


class Play:
    """A Play replays the script of a scenario."""

    def __init__(self, scenario: dict[str, Any], loader: Any) -> None:
        self.scenario, self.loader = scenario, loader
        self.loaders: dict[str, Any] = {}
        self.iterators: dict[str, Any] = {}
        self.states: dict[str, Any] = {}
        self.again: dict[str, int] = {}  # how often an iterator was asked after its end
        self.ended: set[str] = set()
        torch.manual_seed(scenario.get("global_seed", 0))

    def step(self, entry: list[Any]) -> dict[str, Any]:
        """Do an entry of the script. Return what came of it."""
        out: dict[str, Any] = {}
        tap = Warnings()
        logging.getLogger("bivouac.torch").addHandler(tap)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.do(entry, out)
            except Exception as err:
                out["error"] = err
                err.__traceback__ = None
        logging.getLogger("bivouac.torch").removeHandler(tap)
        texts = [str(w.message) for w in caught] + tap.texts
        out["warnings"] = [t for t in texts if any(k in t for k in KEPT)]
        return out

    def do(self, entry: list[Any], out: dict[str, Any]) -> None:
        """Do an entry."""
        op, name = entry[0], entry[1] if len(entry) > 1 else ""
        if op == "seed":
            torch.manual_seed(name)
        elif op == "rng":
            out["value"] = torch.empty((), dtype=torch.int64).random_().item()
        elif op == "json":
            self.states[name] = json.loads(json.dumps(self.states[name]))
        elif op == "recheck":
            out["state"] = encode(self.states[name])
        elif op == "new":
            self.iterators.pop(name, None)
            self.loaders.pop(name, None)
            over = entry[2] if len(entry) > 2 else {}
            if "node" in self.scenario:
                self.loaders[name] = node_scenes.build(self.scenario, over, self.loader)
            else:
                self.loaders[name] = scenes.build(self.scenario, over, self.loader)
        elif name not in self.loaders:
            out["skipped"] = True
        else:
            self.drive(op, name, entry, out)

    def drive(self, op: str, name: str, entry: list[Any], out: dict[str, Any]) -> None:
        """Do an entry that needs a loader."""
        loader = self.loaders[name]
        if op == "del":
            self.iterators.pop(name, None)
            del loader, self.loaders[name]
            gc.collect()
        elif op == "iter":
            self.iterators.pop(name, None)
            self.again[name] = 0
            self.ended.discard(name)
            self.iterators[name] = iter(loader)
        elif op in ("next", "drain"):
            self.read(name, entry[2] if op == "next" else None, out)
        elif op == "state":
            self.states[entry[2]] = loader.state_dict()
            out["state"] = encode(self.states[entry[2]])
        elif op == "load":
            if entry[2] not in self.states:
                out["skipped"] = True
                return
            loader.load_state_dict(self.states[entry[2]])
        elif op == "load_empty":
            loader.load_state_dict({})
        elif op == "set_epoch":
            sampler = loader.sampler
            getattr(sampler, "sampler", sampler).set_epoch(entry[2])
        elif op == "len":
            out["len"] = len(loader)
        elif op == "setattr":
            setattr(loader, entry[2], entry[3])
        else:
            assert op == "grow", op
            loader.dataset.n = entry[2]

    def read(self, name: str, most: int | None, out: dict[str, Any]) -> None:
        """Read batches."""
        if name not in self.iterators:
            out["skipped"] = True
            return
        out["batches"] = []
        for _ in itertools.count() if most is None else range(most):
            self.again[name] += name in self.ended
            try:
                batch = next(self.iterators[name])
            except StopIteration:
                self.ended.add(name)
                out["stop"] = True
                return
            out["batches"].append(encode(batch))


class Book:
    """A Book is what the judge knows of a loader."""

    def __init__(self) -> None:
        self.tainted = False  # its states are not compared any more
        self.refused = False  # it was refused earlier than torchdata refuses it
        self.loaded: Any = None  # the recorded state that the next pass begins with
        self.replays: Any = None  # the state of a data set without one that this pass began with
        self.fresh = False  # the pass was made for a state, and no iter has taken it yet

    def begin(self, stateless: bool) -> None:
        """Begin a pass from the state that was loaded."""
        if self.loaded is not None:
            self.fresh = True
            self.replays = self.loaded if stateless else None
            self.loaded = None


class Judge:
    """A Judge compares a scenario with what was recorded."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.scenario = json.loads((folder / f"{name}.json").read_text())
        blobs = folder / "blobs.json"
        self.blobs = json.loads(blobs.read_text()) if blobs.exists() else {}
        self.nodes = "node" in self.scenario
        self.kind = "" if self.nodes else self.scenario["dataset"]["kind"]
        self.mapped = self.kind.startswith("map")
        self.failures: list[str] = []
        self.books: dict[str, Book] = {}
        self.states: dict[str, tuple[bool, Any]] = {}
        self.outcomes: list[dict[str, Any]] = []
        self.ignored = set(self.scenario.get("unstable_paths", []))
        self.rule: dict[str, Any] | None = None
        self.listed: set[int] = set()
        self.over: dict[str, bool] = {}
        self.find_rule()

    def find_rule(self) -> None:
        """Find what divergences.json says of the scenario."""
        rules = json.loads((self.folder / "divergences.json").read_text())["divergences"]
        for rule in rules:
            if self.name not in rule["scenarios"]:
                continue
            if rule["steps"] == "unstable_paths":
                self.ignored |= set(rule["ignore_paths"].get(self.name, []))
                continue
            self.rule = rule
            steps = rule["steps"]
            if steps == "all after":
                first = rule.get("first_step", {}).get(self.name) or 0
                steps = range(first, len(self.scenario["script"]))
            self.listed = set(steps)

    def run(self, loader: Any = None) -> list[str]:
        """Replay the scenario. Return what differs.

        The loader is a class, or a module of nodes if the scenario has nodes.
        """
        if loader is None:
            loader = node_scenes.nodes if self.nodes else scenes.StatefulDataLoader
        play = Play(self.scenario, loader)
        for i, entry in enumerate(self.scenario["script"]):
            if i >= len(self.scenario["outcomes"]):
                break
            self.judge(i, entry, play.step(entry), play)
        self.end(play)
        play.iterators.clear()
        play.loaders.clear()
        return self.failures

    def fail(self, i: int, text: str) -> None:
        """Note a failure."""
        self.failures.append(f"step {i} {self.scenario['script'][i]}: {text}")

    def judge(self, i: int, entry: list[Any], got: dict[str, Any], play: Play) -> None:
        """Judge a step."""
        self.outcomes.append(got)
        op, name = entry[0], entry[1] if len(entry) > 1 else ""
        want = decode(copy.deepcopy(self.scenario["outcomes"][i]), self.blobs)
        if op == "new" or name not in self.books:
            self.books[name] = Book()
        book = self.books[name]
        self.note(book, op, entry, want)
        if i in self.listed:
            book.tainted = True
            self.diverging(i, op, name, dict(got), want)
            return
        book.refused = book.refused or self.refused_earlier(op, name, i, got, want)
        if book.refused:
            return
        if book.tainted:
            got.pop("state", None)
            want.pop("state", None)
        self.adjust(book, got, want, play.again.get(name, 0))
        self.compare(i, got, want)
        topics = (topics_of(got["warnings"]), topics_of(want.get("warnings", [])))
        if topics[0] != topics[1]:
            self.fail(i, f"warnings: want {want.get('warnings')}, got {got['warnings']}")

    def compare(self, i: int, got: dict[str, Any], want: dict[str, Any]) -> None:
        """Compare all but the warnings."""
        text = self.error_differs(got.get("error"), want.get("error"))
        if text:
            self.fail(i, text)
            return
        plain = [
            {k: v for k, v in x.items() if k not in ("error", "warnings")} for x in (got, want)
        ]
        if self.scenario.get("unordered") and "batches" in plain[0]:
            for x in plain:
                x["batches"] = sorted(x.get("batches", []), key=repr)
        for text in differences(plain[0], plain[1], f"/{i}", self.ignored):
            self.fail(i, text)

    def note(self, book: Book, op: str, entry: list[Any], want: dict[str, Any]) -> None:
        """Keep the books of states."""
        stateless = self.kind in STATELESS
        if op == "state":
            book.begin(stateless)
            if "state" in want:
                self.states[entry[2]] = (book.tainted, want["state"])
        elif op == "load" and entry[2] in self.states:
            tainted, book.loaded = self.states[entry[2]]
            book.tainted = book.tainted or tainted
        elif op == "iter":
            if book.loaded is None and not book.fresh:
                book.replays = None
            book.begin(stateless)
            if book.replays is not None and book.replays["_iterator_finished"] is True:
                book.replays = None
            book.fresh = False

    def adjust(self, book: Book, got: dict[str, Any], want: dict[str, Any], again: int) -> None:
        """Take out of a recorded state what torchdata counts twice, or by accident of timing."""
        state = want.get("state")
        if not isinstance(state, dict) or not state or self.nodes:
            return
        state = want["state"] = copy.deepcopy(state)
        if book.replays is not None:
            for path in COUNTS:
                n = at(book.replays, path)
                if n is not None:
                    add(state, path, -n)
        if not self.mapped and self.scenario["loader"].get("num_workers", 0) > 1:
            self.timed(got.get("state"), state)
        if "_num_yielded" in state and not self.mapped:
            add(state, COUNTS[1], -again)
            add(state, COUNTS[2], -again * self.batch_size())

    def timed(self, got: Any, want: dict[str, Any]) -> None:
        """Take over the counters that depend on when torchdata hears that a worker has ended."""
        drawn, samples = COUNTS[4], COUNTS[5]
        g, w, step = at(got, drawn), at(want, drawn), at(want, COUNTS[3])
        if g is None or w is None or step is None or g < w or w < step:
            return
        size, n = 1, at(want, samples)
        if n is not None:
            size = self.batch_size()
            if n != w * size:
                return
        add(want, drawn, g - w)
        add(want, samples, (g - w) * size)

    def batch_size(self) -> int:
        """Return the batch size of the scenario."""
        return int(self.scenario["loader"].get("batch_size", 1) or 1)

    def error_differs(self, got: Exception | None, want: Any) -> str:
        """Return how an error differs from a recorded one, or ""."""
        if got is None and want is None:
            return ""
        if want is None:
            return f"failed: {type(got).__name__}: {got}"
        if got is None:
            return f"no error, want {want}"
        text, kind = clean(str(got)), type(got).__name__
        if want["type"] == "AssertionError" and kind == "Mismatch":
            return ""
        if want["type"] == "StopIteration" and kind == "RuntimeError":
            return ""  # StopIteration of a data set is an error like any other
        shown = {"type": kind, "message": text}
        if "first_line" in want:
            lines = [line for line in text.strip().splitlines() if line.strip()]
            shown = {"type": kind, "first_line": lines[0], "last_line": lines[-1]}
        if shown == want:
            return ""
        if self.fails_to_begin():
            digits = re.compile(r"\d+")
            if digits.sub("N", str(shown)) == digits.sub("N", str(want)):
                return ""
        return f"error: want {want}, got {shown}"

    def fails_to_begin(self) -> bool:
        """Report whether all workers fail when they begin. Which is reported, depends on timing."""
        if self.nodes:
            return False
        fails = self.scenario["loader"].get("worker_init_fn") == "fail"
        return fails or bool(self.scenario["dataset"].get("fail_init"))

    def refused_earlier(
        self, op: str, name: str, i: int, got: dict[str, Any], want: dict[str, Any]
    ) -> bool:
        """Report whether the loader refuses at construction what torchdata refuses later."""
        if op != "new" or "error" in want or not isinstance(got.get("error"), ValueError):
            return False
        never = False
        steps = zip(self.scenario["script"], self.scenario["outcomes"], strict=False)
        for entry, outcome in itertools.islice(steps, i + 1, None):
            if len(entry) < 2 or entry[1] != name or entry[0] == "len":
                continue
            if "error" not in outcome and "skipped" not in outcome:
                return False
            never = never or "error" in outcome
        return never

    def diverging(
        self, i: int, op: str, name: str, got: dict[str, Any], want: dict[str, Any]
    ) -> None:
        """Judge a step at which torchdata is wrong."""
        assert self.rule is not None
        state = got.pop("state", None)
        want.pop("state", None)
        if "right" in self.rule:
            right = self.rule["right"].get(self.name, {}).get(str(i))
            self.compare(i, got, want if right is None else decode(right, self.blobs))
        elif "StopIteration" in self.rule["pattern"]:
            if self.mapped:
                self.twin(i, got)
            else:
                self.is_over(i, op, name, got, want, state)
        elif "samples" in self.rule:
            if got.get("error") is not None:
                self.fail(i, f"failed: {got['error']!r}")
        elif "exited unexpectedly" not in str(got.get("error")):
            self.fail(i, f"want the end of a worker, got {got.get('error')!r}")

    def twin(self, i: int, got: dict[str, Any]) -> None:
        """Judge StopIteration of an item by the scenario in which the item raises ValueError."""
        name = self.name.replace("-StopIteration-", "-ValueError-")
        twin = json.loads((self.folder / f"{name}.json").read_text())
        want = decode(twin["outcomes"][i], self.blobs)
        want.pop("state", None)
        if "error" in want:
            want["error"] = {**want["error"], "type": "StopIteration"}
        self.compare(i, got, want)

    def is_over(
        self, i: int, op: str, name: str, got: dict[str, Any], want: dict[str, Any], state: Any
    ) -> None:
        """Judge an iterator that ends in the midst: the epoch is over, and stays so."""
        over = self.over.get(name, False)
        if over and state is not None and state["_iterator_finished"] is not True:
            self.fail(i, "a state that is not finished, after the end")
        if over and got.get("batches"):
            self.fail(i, "batches after the end")
        self.over[name] = op not in ("iter", "new") and (over or got.get("stop") is True)
        self.compare(i, got, want)

    def end(self, play: Play) -> None:
        """Judge what all steps together must be."""
        if self.rule is None:
            return
        if "samples" in self.rule:
            self.once()
        elif "worker-exit" in self.rule["pattern"]:
            for _ in range(2):
                for name, iterator in play.iterators.items():
                    try:
                        next(iterator)
                    except RuntimeError:
                        continue
                    self.failures.append(f"loader {name} delivers after the end of a worker")

    def once(self) -> None:
        """Judge that each sample came once, before a state or after it."""
        assert self.rule is not None
        delivered: dict[str, list[Any]] = {}
        before: dict[str, list[Any]] = {}
        for entry, out in zip(self.scenario["script"], self.outcomes, strict=False):
            op, name = entry[0], entry[1] if len(entry) > 1 else ""
            if op == "new":
                delivered[name] = []
            elif op in ("next", "drain"):
                delivered[name] += out.get("batches", [])
            elif op == "state":
                before[entry[2]] = list(delivered[name])
            elif op == "load":
                delivered[name] = list(before[entry[2]])
        alone = self.scenario["loader"].get("batch_size", 1) is None
        ids = self.rule["samples"][self.name]
        want = sorted(repr(encode(i if alone else torch.tensor([i]))) for i in ids)
        for name, batches in delivered.items():
            if sorted(map(repr, batches)) != want:
                self.failures.append(f"loader {name}: want each sample once, got {batches}")


def topics_of(texts: list[str]) -> list[str]:
    """Return what warnings are about, with their numbers."""
    out = []
    for text in texts:
        if "in_order=False" in text:
            continue  # a state is exact here
        topic = "fast-forwarding" if "fast-forwarding" in text else text.split(" ", 3)[0]
        out.append(" ".join([topic, *re.findall(r"\d+", clean(text))]))
    return out


def clean(text: str) -> str:
    """Take out of a text what differs between runs."""
    text = re.sub(r"<[\w.]*\.(\w+) object at 0x[0-9a-f]+>", r"<\1>", text)
    pids = r"\(pids?(\(s\))? [\d, ]+\)"
    text = re.sub(pids, lambda m: re.sub(r"\d+", "N", m.group(0)), text)
    return text.replace("loader_scenes.", "").replace("node_data.", "")


def at(state: Any, path: tuple[str, ...]) -> int | None:
    """Return the number at a path of a state, or None."""
    for key in path:
        if not isinstance(state, dict):
            return None
        state = state.get(key)
    return state if isinstance(state, int) and not isinstance(state, bool) else None


def add(state: dict[str, Any], path: tuple[str, ...], n: int) -> None:
    """Add to the number at a path of a state, if there is one."""
    if at(state, path) is not None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] += n
