"""Runs and sessions that Bivouac and Orbax write to in turn.

A run is a directory of steps. Each turn one side saves a few steps under the same
preservation policy, so that it also removes steps of the others; then all sides
must see the same: steps, latest and best, metrics, custom metadata of the steps
and of the run, JSON and proto items, and every leaf. Which steps have to be left
is what Orbax leaves that has the run for itself. Directories of saves that were
interrupted, and what is no step at all, lie among them: nobody lists them, nobody
removes them.
"""

import json
import os
import shutil
import subprocess

import numpy as np

import limits
import truth
import values

LATEST = {"policy": "LatestN", "args": {"n": 3}}
HIGHEST = {"policy": "BestN", "args": {"metric": "loss", "reverse": False, "n": 2}}
LOWEST = {"policy": "BestN", "args": {"metric": "loss", "reverse": True, "n": 2}}
EVERY = {"policy": "EveryNSteps", "args": {"interval_steps": 2}}
ANY = {"policy": "AnyPreservationPolicy", "args": {"policies": [{"policy": "LatestN", "args": {"n": 1}}, LOWEST]}}

# who saves in turn, which steps are kept, how they are named
RUNS = [
    (("ours", "v1", "v0", "ours"), LATEST, {}),
    (("v1", "ours", "v1", "v0"), HIGHEST, {}),
    (("v0", "ours", "v0", "v1"), EVERY, {"step_prefix": "ckpt", "step_format_fixed_length": 6}),
    (("ours", "v0", "ours", "v1"), ANY, {"step_format_fixed_length": 3}),
]


class Bivouac:
    """Bivouac's side, a process for each request."""

    def __init__(self, program):
        self.program = program

    def ask(self, do, path, **rest):
        """The answer; an error of Bivouac's is a RuntimeError that begins with its kind."""
        body = json.dumps({"do": do, "path": path} | rest)
        done = subprocess.run([self.program, "exchange"], input=body, capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer['text']}")
        return answer["result"]

    def save(self, run, saves):
        texts = [{"proto": text_of(struct(s["proto"]))} if "proto" in s else {} for s in saves]
        return self.ask("save", run.path, preserve=run.preserve, names=run.names, custom=run.custom, saves=[s | t for s, t in zip(saves, texts)])

    def view(self, run):
        return self.ask("view", run.path, preserve=run.preserve, names=run.names)


def struct(value):
    """A proto item: the message of a JSON object."""
    from google.protobuf import json_format, struct_pb2

    return json_format.ParseDict(value, struct_pb2.Struct())


def text_of(message):
    from google.protobuf import text_format

    return text_format.MessageToString(message)


def view_of_step(step, metrics, custom, items):
    return {"step": step, "metrics": metrics or None, "custom": custom or None, "leaves": truth.leaves(items["state"]), "data": items["data"], "proto": text_of(items["proto"]) if "proto" in items else None}


class V1:
    """training.Checkpointer of Orbax v1."""

    def __init__(self):
        from orbax.checkpoint import v1

        self.v1 = v1

    def policy(self, spec):
        policies, args = self.v1.training.preservation_policies, dict(spec["args"])
        if "metric" in args:
            name = args.pop("metric")
            args["get_metric_fn"] = lambda metrics: metrics[name]
        if "policies" in args:
            args["policies"] = [self.policy(p) for p in args["policies"]]
        return getattr(policies, spec["policy"])(**args)

    def open(self, run):
        v1, registry = self.v1, self.v1.handlers.local_registry()
        registry.add(v1.handlers.JsonHandler, checkpointable_name="data")
        registry.add(v1.handlers.ProtoHandler, checkpointable_name="proto")
        return v1.training.Checkpointer(
            run.path,
            context=v1.Context(checkpointables_options=v1.options.CheckpointablesOptions(registry=registry)),
            save_decision_policy=v1.training.save_decision_policies.FixedIntervalPolicy(1),
            preservation_policy=self.policy(run.preserve),
            step_name_format=v1.path.step.standard_name_format(**run.names),
            custom_metadata=run.custom,
        )

    def save(self, run, saves):
        with self.open(run) as steps:
            out = []
            for s in saves:
                items = {"state": truth.tree(s["leaves"]), "data": s["data"]}
                if "proto" in s:
                    items["proto"] = struct(s["proto"])
                out.append(steps.save_checkpointables(s["step"], items, metrics=s.get("metrics"), custom_metadata=s.get("custom")))
        return out

    def view(self, run):
        from google.protobuf import struct_pb2

        with self.open(run) as steps:
            seen = []
            for c in steps.checkpoints:
                has = os.path.isdir(os.path.join(c.path, "proto"))
                items = steps.load_checkpointables(c.step, {"state": None, "data": None} | ({"proto": struct_pb2.Struct} if has else {}))
                seen.append(view_of_step(c.step, c.metrics, steps.checkpointables_metadata(c.step).custom_metadata, items))
            latest = steps.latest.step if steps.latest else None
            return {"steps": sorted(seen, key=lambda s: s["step"]), "latest": latest, "custom": steps.root_metadata().custom_metadata or None}


class V0:
    """CheckpointManager of Orbax v0, with v1's names of files: by itself it has others, which v1 does not read."""

    def __init__(self, v1):
        import orbax.checkpoint as v0

        self.v0, self.v1 = v0, v1

    def open(self, run):
        lowest = run.preserve is LOWEST or run.preserve is ANY
        options = self.v0.CheckpointManagerOptions(
            preservation_policy=self.v1.policy(run.preserve), best_fn=lambda metrics: metrics["loss"], best_mode="min" if lowest else "max",
            enable_async_checkpointing=False, **run.names,
        )
        handlers = {"state": self.v0.PyTreeCheckpointHandler(), "data": self.v0.JsonCheckpointHandler(filename="data.json"), "proto": self.v0.ProtoCheckpointHandler(filename="proto.pbtxt")}
        return self.v0.CheckpointManager(run.path, item_handlers=handlers, options=options, metadata=run.custom)

    def save(self, run, saves):
        args = self.v0.args
        with self.open(run) as steps:
            out = []
            for s in saves:
                items = {"state": args.PyTreeSave(truth.tree(s["leaves"])), "data": args.JsonSave(s["data"])}
                if "proto" in s:
                    items["proto"] = args.ProtoSave(struct(s["proto"]))
                out.append(steps.save(s["step"], args=args.Composite(**items), metrics=s.get("metrics"), custom_metadata=s.get("custom")))
        return out

    def view(self, run):
        from google.protobuf import struct_pb2

        args = self.v0.args
        with self.open(run) as steps:
            seen = []
            for step in steps.all_steps():
                items = {"state": args.PyTreeRestore(), "data": args.JsonRestore()}
                if os.path.isdir(os.path.join(run.path, run.name(step), "proto")):
                    items["proto"] = args.ProtoRestore(struct_pb2.Struct)
                found = steps.restore(step, args=args.Composite(**items))
                seen.append(view_of_step(step, steps.metrics(step), steps.metadata(step).custom_metadata, {k: found[k] for k in items}))
            return {"steps": sorted(seen, key=lambda s: s["step"]), "latest": steps.latest_step(), "best": steps.best_step(), "custom": steps.metadata().custom_metadata or None}


class Run:
    """A run, what was saved there by step, and what lies among the steps."""

    def __init__(self, path, preserve, names, custom):
        self.path, self.preserve, self.names, self.custom = path, preserve, names, custom
        self.saved, self.alien = {}, []

    def name(self, step):
        prefix = self.names.get("step_prefix")
        return (f"{prefix}_" if prefix else "") + str(step).zfill(self.names.get("step_format_fixed_length") or 0)

    def plant(self, step):
        """What interrupted saves leave, and what others keep there."""
        done = os.path.join(self.path, self.name(step))
        whole, empty = (os.path.join(self.path, self.name(step + n) + ".orbax-checkpoint-tmp") for n in (500, 501))
        shutil.copytree(done, whole, ignore=shutil.ignore_patterns("commit_success.txt"))
        os.mkdir(empty)
        open(os.path.join(empty, "_CHECKPOINT_METADATA"), "w").close()
        notes = os.path.join(self.path, "notes")
        os.mkdir(notes)
        self.alien += [whole, empty, notes]


def random_saves(rng, trees, first, count):
    out = []
    for step in range(first, first + count):
        s = {"step": step, "leaves": truth.leaves(trees.tree()), "data": {"position": [step, 0.5, None, "ü"]}}
        if rng.integers(0, 4):
            s["metrics"] = {"loss": float(rng.integers(0, 6)), "accuracy": 0.25 * step}
        if rng.integers(0, 2):
            s["custom"] = {"note": f"step {step}", "n": [step, None]}
        if rng.integers(0, 2):
            s["proto"] = {"step": float(step), "names": ["a", "b"], "nested": {"on": True}}
        out.append(s)
    return out


def compare_views(run, kept, views):
    """What the sides see of a run, against each other and against what was saved."""
    wrong = []
    for who, view in views.items():
        steps = [s["step"] for s in view["steps"]]
        if steps != kept:
            wrong.append(f"{who}: steps {steps}, want {kept}")
        if view["latest"] != kept[-1] or view["custom"] != run.custom:
            wrong.append(f"{who}: latest {view['latest']}, custom {view['custom']}; want {kept[-1]}, {run.custom}")
        for s in view["steps"]:
            was = run.saved.get(s["step"], {})
            wrong += [f"{who}: step {s['step']}: {d}" for d in truth.differences(was.get("leaves", []), s["leaves"], (("empty_tuple", "empty_list"),))]
            for what in ("metrics", "custom", "data", "proto"):
                want = was.get(what)
                if what == "proto" and want is not None:
                    want = text_of(struct(want))
                if s[what] != want:
                    wrong.append(f"{who}: step {s['step']}: {what} {s[what]}, want {want}")
    if run.preserve in (HIGHEST, LOWEST) and views["ours"]["best"] != views["v0"]["best"]:
        wrong.append(f"best step: ours {views['ours']['best']}, v0 {views['v0']['best']}")
    return wrong + [f"{path} is gone" for path in run.alien if not os.path.isdir(path)]


def play(root, rng, sides, who, preserve, names):
    """All turns of one run; returns (saves, leaves, differences)."""
    run = Run(os.path.join(root, "run"), preserve, names, {"run": "Zug", "n": 1})
    alone = Run(os.path.join(root, "alone"), preserve, names, None)
    trees = values.Trees(rng, limits.ORBAX, values.random_array)
    wrong, step, leaves = [], 1, 0
    for turn, side in enumerate(who):
        saves = random_saves(rng, trees, step, 2 + int(rng.integers(0, 2)))
        step = saves[-1]["step"] + 1
        leaves += sum(len(s["leaves"]) for s in saves)
        run.saved |= {s["step"]: s for s in saves}
        if not all(sides[side].save(run, saves)):
            wrong.append(f"turn {turn}: {side} did not save every step")
        sides["v1"].save(alone, [{k: v for k, v in s.items() if k not in ("leaves", "proto")} | {"leaves": truth.leaves({"x": np.zeros(1)})} for s in saves])
        with sides["v1"].open(alone) as left:
            kept = {c.step for c in left.checkpoints}
        kept = sorted(kept | {step - 1} if side == "ours" else kept)  # Bivouac leaves the newest to the next save, whatever the policy says
        wrong += [f"turn {turn} ({side}): {w}" for w in compare_views(run, kept, {name: s.view(run) for name, s in sides.items()})]
        if turn == 1:
            run.plant(kept[-1])
    return len(run.saved), leaves, wrong


def play_all(root, seed, program):
    """Plays every run; prints a line for each and one for every difference, and returns how many there were."""
    v1 = V1()
    sides = {"ours": Bivouac(program), "v1": v1, "v0": V0(v1)}
    total = 0
    for row, (who, preserve, names) in enumerate(RUNS):
        folder = os.path.join(root, f"run{row}")
        try:
            saves, leaves, wrong = play(folder, np.random.default_rng([seed, 3000 + row]), sides, who, preserve, names)
        except Exception as e:  # noqa: BLE001 - a refusal is a difference
            saves, leaves, wrong = 0, 0, [f"{type(e).__name__}: {str(e)[:600]}"]
        for w in wrong:
            print(f"DIFFERENT {folder}: {w}")
        print(f"{' → '.join(who):24} {preserve['policy']:22}: {saves:4} steps, {leaves:6} leaves, {len(wrong)} differences")
        total += len(wrong)
    return total
