"""Each library reads what Bivouac wrote, without being told what there is."""

import base64
import collections
import json
import os
import zlib

import numpy as np

import handled
import limits
import processes
import truth
import values
import writers

# Orbax gives tuples back as lists.
ORBAX_LOOSE = (("empty_tuple", "empty_list"),)


def tree_v1(folder, case):
    from orbax.checkpoint import v1

    # A reader that asks for commit_success.txt finds it.
    mode = v1.options.AtomicityOptions(mode=v1.options.AtomicityMode.COMMIT_FILE)
    with v1.Context(atomicity_options=mode):
        return truth.leaves(v1.load(os.path.join(folder, case["path"]))), []


def sharded_v1(folder, case):
    """Every array as a jax array, cut over 8 fake devices in another way than it was written."""
    import jax
    from orbax.checkpoint import v1

    rng = np.random.default_rng(zlib.crc32(folder.encode()))

    def abstract(leaf):
        if leaf["kind"] != "array":
            return truth.value(leaf)
        shape = tuple(leaf["shape"])
        return jax.ShapeDtypeStruct(shape, values.dtype_of(leaf["dtype"]), sharding=writers.random_sharding(rng, shape))

    return truth.leaves(v1.load(os.path.join(folder, case["path"]), truth.tree(case["leaves"], abstract))), []


def meshed_v1(folder, case):
    """Arrays of jax without an abstract tree, on the devices of the mesh with which they were saved."""
    from jax.sharding import NamedSharding
    from orbax.checkpoint import v1

    found, wrong = v1.load(os.path.join(folder, case["path"])), []
    for name, cut in case["cuts"].items():
        sharding = getattr(found[name], "sharding", None)
        if not isinstance(sharding, NamedSharding):
            wrong.append(f"{name}: read {type(found[name]).__name__} with {sharding}")
            continue
        axes = [[] if a is None else [a] if isinstance(a, str) else list(a) for a in sharding.spec]
        wrong += expected([dict(sharding.mesh.shape), axes], [{"x": 2, "y": 4}, [a or [] for a in cut]])
    return truth.leaves(found), wrong


def tree_v0(folder, case):
    import orbax.checkpoint as v0

    with v0.Checkpointer(v0.PyTreeCheckpointHandler()) as k:
        return truth.leaves(k.restore(os.path.join(folder, case["path"], "state"))), []


def run_v1(folder, case):
    from orbax.checkpoint import v1

    registry = v1.handlers.local_registry()
    registry.add(v1.handlers.JsonHandler, checkpointable_name="data")
    context = v1.Context(
        checkpointables_options=v1.options.CheckpointablesOptions(registry=registry),
        atomicity_options=v1.options.AtomicityOptions(mode=v1.options.AtomicityMode.COMMIT_FILE),
    )
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


def numpy_arrays(case):
    return [(name, leaf) for name, leaf in arrays(case) if leaf["dtype"] in limits.NUMPY]


def by_zarr(folder, case):
    import zarr

    out = []
    for name, leaf in numpy_arrays(case):
        a = zarr.open_array(os.path.join(state(folder, case), name), mode="r")
        out.append(leaf | truth.array(a[...], leaf["kind"]))
    return out, []


def files_of(folder, case):
    root = os.path.join(folder, case["path"])
    return [os.path.join(root, n) for n in sorted(os.listdir(root)) if n.endswith(".safetensors")]


def by_safetensors(folder, case):
    """What the library parses, all element types: names, shapes, bytes."""
    from safetensors import deserialize

    found = {}
    for file in files_of(folder, case):
        with open(file, "rb") as f:
            found |= dict(deserialize(f.read()))
    return indexed(folder, case, *named(case, found, lambda t: {"dtype": SAFETENSORS[t["dtype"]], "shape": t["shape"], "data": bytes(t["data"])}, packed=True))


def indexed(folder, case, out, wrong):
    """Also holds the index against the files, where there are several."""
    from safetensors import safe_open

    files = files_of(folder, case)
    if len(files) == 1:
        return out, wrong
    with open(os.path.join(folder, case["path"], "model.safetensors.index.json"), encoding="utf-8") as f:
        index = json.load(f)["weight_map"]
    found = {}
    for file in files:
        with safe_open(file, framework="np") as f:
            found |= {name: os.path.basename(file) for name in f.keys()}
    return out, wrong + expected(found, index)


def by_safetensors_numpy(folder, case):
    from safetensors import safe_open

    names, found = dict(safetensors_numpy_arrays(case)), {}
    for file in files_of(folder, case):
        with safe_open(file, framework="np") as f:
            found |= {name: f.get_tensor(name) for name in f.keys() if name in names}
    return named(case, found, lambda a: truth.array(a, "array"), safetensors_numpy_arrays)


def by_orbax_safetensors(folder, case):
    from orbax.checkpoint import v1

    with v1.Context(checkpoint_layout=v1.options.CheckpointLayout.SAFETENSORS):
        files = files_of(folder, case)
        found = v1.load(files[0] if len(files) == 1 else os.path.dirname(files[0]))
    return named(case, found, lambda a: truth.array(a, "array"))


def safetensors_numpy_arrays(case):
    return [(name, leaf) for name, leaf in arrays(case) if leaf["dtype"] in limits.NUMPY or leaf["dtype"] == "bfloat16"]


SAFETENSORS = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu", "F4": "float4_e2m1fn", "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn",
}


def named(case, found, describe, select=arrays, packed=False):
    """Tensors by name as leaves; a name too many or too few is a difference."""
    out, wrong = [], []
    want = dict(select(case))
    for name in found.keys() - want.keys():
        wrong.append(f"{name!r}: wrote nothing, read a tensor")
    for name in found.keys() & want.keys():
        got = describe(found[name])
        if packed:
            got["data"] = base64.b64encode(values.unpacked(got["data"], got["dtype"])).decode()
        out.append(want[name] | {k: got[k] for k in ("dtype", "shape", "data")})
    return out, wrong


# kind of case, layouts, library, reader, which leaves are compared, kinds that count as equal
OCDBT, PLAIN = ("ocdbt-zarr3", "ocdbt-zarr2"), ("zarr3", "zarr2")
READERS = [
    ("tree", OCDBT + PLAIN, "orbax v1.load", tree_v1, None, ORBAX_LOOSE),
    ("tree", OCDBT + PLAIN, "orbax v1.load sharded", sharded_v1, None, ORBAX_LOOSE),
    ("tree", OCDBT + PLAIN, "orbax v0 PyTree", tree_v0, None, ORBAX_LOOSE),
    ("meshed", OCDBT + PLAIN, "orbax v1.load meshed", meshed_v1, None, ORBAX_LOOSE),
    ("run", OCDBT + PLAIN, "orbax v1 Checkpointer", run_v1, None, ORBAX_LOOSE),
    ("run", OCDBT + PLAIN, "orbax v0 CheckpointManager", run_v0, None, ORBAX_LOOSE),
    ("handled", OCDBT + PLAIN, "orbax v1 handlers", handled.items_v1, None, ORBAX_LOOSE),
    ("tree", OCDBT + PLAIN, "tensorstore", by_tensorstore, arrays, ()),
    ("tree", PLAIN, "zarr-python", by_zarr, numpy_arrays, ()),
    ("tree", ("safetensors",), "safetensors", by_safetensors, arrays, ()),
    ("tree", ("safetensors",), "safetensors.numpy", by_safetensors_numpy, safetensors_numpy_arrays, ()),
    ("common", ("safetensors",), "orbax v1.load", by_orbax_safetensors, arrays, ()),
]


def compare(reader, select, loose, folder, case):
    """What a library read against what Bivouac wrote: (leaves compared, not possible there, differences)."""
    want = case["leaves"] if select is None else [leaf for _, leaf in select(case)]
    try:
        got, wrong = reader(folder, case)
    except Exception as e:  # noqa: BLE001 - a refusal is a difference
        return 0, 0, [f"{type(e).__name__}: {str(e)[:600]}"]
    return len(want), len(case["leaves"]) - len(want), wrong + truth.differences(want, got, loose)


def read(root, readers=READERS, together=True, of=""):
    """Reads every case below root, by libraries whose names begin with of, with every library; returns the number of differences."""
    cases = [(os.path.join(root, name), truth.load(os.path.join(root, name))) for name in sorted(os.listdir(root))]
    tallies, total = collections.OrderedDict(), 0

    def tally(library, folder, case, leaves, impossible, wrong):
        nonlocal total
        for text in wrong:
            print(f"DIFFERENT {library} {case['layout']} {folder}: {text}")
        t = tallies.setdefault((library, case["layout"]), [0, 0, 0, 0])
        for i, n in enumerate((1, leaves, len(wrong), impossible)):
            t[i] += n
        total += len(wrong)

    for folder, case in cases:
        for kind, layouts, library, reader, select, loose in readers:
            if kind == case["kind"] and case["layout"] in layouts and case.get("library", "").startswith(of):
                tally(library, folder, case, *compare(reader, select, loose, folder, case))
    if together:
        mine = {folder: case for folder, case in cases if case["kind"] == "tree" and case["layout"] in OCDBT + PLAIN}
        for folder, wrong in processes.read(list(mine)).items():
            tally("orbax 2 processes", folder, mine[folder], len(mine[folder]["leaves"]), 0, wrong)
    for (library, layout), (trees, leaves, wrong, impossible) in tallies.items():
        aside = f", {impossible} leaves not possible there" if impossible else ""
        print(f"bivouac → {library:26} {layout:12}: {trees:4} trees, {leaves:6} leaves, {wrong} differences{aside}")
    return total or not tallies


def adopted(folder, case):
    """What several processes wrote asks for a sharding."""
    return (sharded_v1 if "processes" in case["library"] else tree_v1)(folder, case)


def read_changed(root):
    """Reads what Orbax wrote below root and Bivouac changed: databases of several processes that it merged, trees that it adopted."""
    changed = [
        ("unmerged", OCDBT, "orbax v1.load of merged", sharded_v1, None, ORBAX_LOOSE),
        ("tree", OCDBT + PLAIN, "orbax v1.load of adopted", adopted, None, ORBAX_LOOSE),
    ]
    return read(root, changed, together=False, of="orbax")
