"""Each library reads what Bivouac wrote, without being told what there is."""

import base64
import collections
import os

import numpy as np

import limits
import truth
import values

# Orbax gives tuples back as lists.
ORBAX_LOOSE = (("empty_tuple", "empty_list"),)


def tree_v1(folder, case):
    from orbax.checkpoint import v1

    return truth.leaves(v1.load(os.path.join(folder, case["path"]))), []


def tree_v0(folder, case):
    import orbax.checkpoint as v0

    with v0.Checkpointer(v0.PyTreeCheckpointHandler()) as k:
        return truth.leaves(k.restore(os.path.join(folder, case["path"], "state"))), []


def run_v1(folder, case):
    from orbax.checkpoint import v1

    registry = v1.handlers.local_registry()
    registry.add(v1.handlers.JsonHandler, checkpointable_name="data")
    context = v1.Context(checkpointables_options=v1.options.CheckpointablesOptions(registry=registry))
    with context, v1.training.Checkpointer(os.path.join(folder, case["path"])) as steps:
        items = steps.load_checkpointables(steps.latest.step)
        found = [steps.latest.step, items["data"]]
    return truth.leaves(items["state"]), expected(found, [case["step"], case["data"]])


def run_v0(folder, case):
    import orbax.checkpoint as v0

    with v0.CheckpointManager(os.path.join(folder, case["path"]), item_names=("state",)) as manager:
        step = manager.latest_step()
        items = manager.restore(step, args=v0.args.Composite(state=v0.args.PyTreeRestore()))
    return truth.leaves(items["state"]), expected(step, case["step"])


def expected(found, want):
    return [] if found == want else [f"wrote {want}, read {found}"]


def arrays(case):
    """The leaves that are stored as arrays, by the name of their parameter."""
    return [(".".join(l["keys"]), l) for l in case["leaves"] if l["kind"] in ("array", "scalar")]


def state(folder, case):
    return os.path.join(folder, case["path"], *([str(case["step"])] if "step" in case else []), "state")


def by_tensorstore(folder, case):
    import tensorstore as ts

    out = []
    for name, leaf in arrays(case):
        kv = {"driver": "file", "path": state(folder, case) + "/"}
        if case["layout"].startswith("ocdbt"):
            kv = {"driver": "ocdbt", "base": kv, "path": name + "/"}
        else:
            kv["path"] += name + "/"
        spec = {"driver": "zarr3" if case["layout"].endswith("zarr3") else "zarr", "kvstore": kv}
        out.append(leaf | truth.array(ts.open(spec, read=True).result().read().result(), leaf["kind"]))
    return out, []


# kind of case → library, what it reads, which leaves, what counts as equal
READERS = [
    ("tree", "orbax v1.load", tree_v1, None, ORBAX_LOOSE),
    ("tree", "orbax v0 PyTree", tree_v0, None, ORBAX_LOOSE),
    ("tree", "tensorstore", by_tensorstore, arrays, ()),
    ("run", "orbax v1 Checkpointer", run_v1, None, ORBAX_LOOSE),
    ("run", "orbax v0 CheckpointManager", run_v0, None, ORBAX_LOOSE),
]


def compare(reader, select, loose, folder, case):
    """What a library read against what Bivouac wrote: (leaves compared, differences)."""
    want = case["leaves"] if select is None else [leaf for _, leaf in select(case)]
    try:
        got, wrong = reader(folder, case)
    except Exception as e:  # noqa: BLE001 - a refusal is a difference
        return 0, [f"{type(e).__name__}: {str(e)[:600]}"]
    return len(want), wrong + truth.differences(want, got, loose)


def read(root):
    """Reads every case below root with every library; returns the number of differences."""
    tallies, total = collections.OrderedDict(), 0
    for name in sorted(os.listdir(root)):
        folder = os.path.join(root, name)
        case = truth.load(folder)
        for kind, library, reader, select, loose in READERS:
            if kind != case["kind"]:
                continue
            leaves, wrong = compare(reader, select, loose, folder, case)
            for text in wrong:
                print(f"DIFFERENT {library} {case['layout']} {folder}: {text}")
            t = tallies.setdefault((library, case["layout"]), [0, 0, 0])
            for i, n in enumerate((1, leaves, len(wrong))):
                t[i] += n
            total += len(wrong)
    for (library, layout), (trees, leaves, wrong) in tallies.items():
        print(f"bivouac → {library:26} {layout:12}: {trees:4} trees, {leaves:6} leaves, {wrong} differences")
    return total or not tallies
