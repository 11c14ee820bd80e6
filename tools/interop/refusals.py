"""What Orbax refuses to load: odd and damaged checkpoints, each with what Orbax says of it.

refusals.py write DIR SEED CASES
refusals.py record DIR SEED CASES FILE

write makes each case a directory below DIR with a case.json:

    {"how": "...", "path": "checkpoint", "flat": false, "refused": null or "ValueError: ..."}

path is what was loaded. Orbax loads a checkpoint when v1.load_checkpointables gives every item and, where a
tree is among them, v1.load gives it, neither being told anything of the checkpoint; a flat one
has v1.load alone. `bivouac verify --for orbax` must say the same of it.

record does the same, and writes to FILE the cases as JSON: the bases with all files, of each case
what differs from its base. proof/interop has the recorded cases in testdata.
"""

import base64
import json
import logging
import os
import shutil
import sys
import warnings

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
warnings.simplefilter("ignore")

import numpy as np


def context(v1, layout):
    saving = {}
    if layout != "default":
        saving = {"use_ocdbt": layout.startswith("ocdbt"), "use_zarr3": layout.endswith("zarr3")}
    return v1.Context(array_options=v1.options.ArrayOptions(saving=v1.options.ArrayOptions.Saving(**saving)))


def tree(rng):
    """A tree with every kind of leaf that the default handlers take."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    t = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "layers": [{"k": np.arange(4, dtype=np.int16)}, {"k": np.arange(5, dtype=np.int16)}],
        "lr": 0.5, "n": 7, "yes": True,
    }
    if rng.integers(2):
        t["j"] = jax.device_put(np.arange(8, dtype=np.float32).reshape(4, 2), NamedSharding(mesh, PartitionSpec("a")))
        t["one"] = jax.numpy.arange(3)
    if rng.integers(2):
        t["name"] = "text"
    if rng.integers(2):
        t["none"], t["empty"] = None, {}
    if rng.integers(3) == 0:
        t["key"] = jax.random.key(3)
    return t


LAYOUTS = ["default", "default", "ocdbt-zarr2", "zarr3", "zarr2"]


def new_base(rng, folder, what):
    """Writes a whole checkpoint to folder/checkpoint and returns how."""
    import orbax.checkpoint as v0
    from orbax.checkpoint import v1

    at = os.path.join(folder, "checkpoint")
    layout = pick(rng, LAYOUTS)
    with context(v1, layout):
        if what <= 2:
            v1.save(at, tree(rng), custom_metadata={"a": 1} if rng.integers(2) else None)
            return f"v1.save {layout}"
        if what == 3:
            v1.save_checkpointables(at, {"state": tree(rng), "other": {"b": np.arange(3)}, "data": json_item()})
            return f"v1.save_checkpointables {layout}"
        if what == 4:
            root = os.path.join(folder, "run")
            with v1.training.Checkpointer(root) as steps:
                steps.save_checkpointables(1, {"state": tree(rng)}, metrics={"loss": 0.5})
            os.rename(os.path.join(root, "1"), at)
            shutil.rmtree(root)
            return f"v1 Checkpointer {layout}"
    handler = v0.PyTreeCheckpointHandler(use_ocdbt=layout.startswith(("ocdbt", "default")), use_zarr3=layout in ("zarr3", "default"))
    if what == 5:
        with v0.Checkpointer(handler) as k:
            k.save(at, args=v0.args.PyTreeSave(tree(rng)))
        return f"v0 flat {layout}"
    root = os.path.join(folder, "run")
    with v0.CheckpointManager(root, item_names=("state", "other"), item_handlers={"state": handler, "other": v0.JsonCheckpointHandler()}) as k:
        k.save(3, args=v0.args.Composite(state=v0.args.PyTreeSave(tree(rng)), other=v0.args.JsonSave({"a": [1, None, "x"]})))
        k.wait_until_finished()
    os.rename(os.path.join(root, "3"), at)
    shutil.rmtree(root)
    return f"v0 CheckpointManager {layout}"


def json_item():
    return {"epoch": 3, "names": ["a", None]}


def files(at):
    return sorted(os.path.relpath(os.path.join(d, n), at) for d, _, names in os.walk(at) for n in names)


DOCUMENTS = ("_CHECKPOINT_METADATA", "_METADATA", "_sharding", "process_0", "_strings.json", "zarr.json", ".zarray", "metrics")


def documents(at):
    return [f for f in files(at) if os.path.basename(f) in DOCUMENTS]


def pick(rng, of):
    return of[int(rng.integers(len(of)))]


JUNK = [b"", b"{}", b"[]", b"null", b"3", b'"x"', b"{", b"\xff\xfe", b"{} {}", b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"tree_metadata": {}}', b'{"item_handlers": null}']
VALUES = [None, 0, -1, 1.5, "x", "", [], {}, True, [None], {"x": 1}, 1 << 70, "jax.Array", "np.ndarray", "scalar", "string", "None", "Dict", "List", "<f4", "int2"]


def places(value, path=()):
    """Every member and element of a JSON value, by its path."""
    out = []
    if isinstance(value, dict):
        for k, v in value.items():
            out.append(path + (k,))
            out += places(v, path + (k,))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            out.append(path + (i,))
            out += places(v, path + (i,))
    return out


def mutate_json(rng, file):
    with open(file, "rb") as f:
        raw = f.read()
    if rng.integers(5) == 0:
        junk = pick(rng, JUNK)
        with open(file, "wb") as f:
            f.write(junk)
        return f"is {junk!r}"
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    at = places(value)
    if not at:
        return None
    # Higher places first: a third of the draws are among the first levels.
    at = [p for p in at if len(p) <= int(rng.integers(1, 9))] or at
    p = pick(rng, at)
    parent = value
    for k in p[:-1]:
        parent = parent[k]
    what = int(rng.integers(5))
    if what == 0:
        del parent[p[-1]]
        how = "removed"
    elif what == 1 and isinstance(parent, dict):
        parent["unknown"] = 1
        how = "unknown member beside"
    elif what == 2 and isinstance(parent, dict):
        name = pick(rng, ["x", "", "a/b", str(p[-1]) + "2"])
        parent[name] = parent.pop(p[-1])
        how = f"renamed to {name!r}"
    else:
        v = pick(rng, VALUES)
        parent[p[-1]] = v
        how = f"= {v!r}"
    with open(file, "w", encoding="utf-8") as f:
        json.dump(value, f)
    return f"{list(p)} {how}"


def damage(rng, folder):
    """Changes folder/checkpoint, and returns (path, how); how is None when nothing came of it."""
    at = os.path.join(folder, "checkpoint")
    what = int(rng.integers(14))
    if what < 6:
        docs = documents(at)
        # All kinds of documents alike, whatever their number.
        base = pick(rng, sorted({os.path.basename(d) for d in docs}))
        doc = pick(rng, [d for d in docs if os.path.basename(d) == base])
        how = mutate_json(rng, os.path.join(at, doc))
        return "checkpoint", how and f"{doc}: {how}"
    if what == 6:
        f = pick(rng, files(at))
        os.remove(os.path.join(at, f))
        return "checkpoint", f"{f} removed"
    if what == 7:
        f = pick(rng, files(at))
        size = os.path.getsize(os.path.join(at, f))
        with open(os.path.join(at, f), "r+b") as g:
            g.truncate(size // 2 if rng.integers(2) else 0)
        return "checkpoint", f"{f} cut"
    if what == 8:
        f = pick(rng, files(at))
        with open(os.path.join(at, f), "r+b") as g:
            b = bytearray(g.read())
            if not b:
                return "checkpoint", None
            i = int(rng.integers(len(b)))
            b[i] ^= 1 << int(rng.integers(8))
            g.seek(0)
            g.write(b)
        return "checkpoint", f"{f}: a bit of byte {i} flipped"
    if what == 9:
        dirs = sorted(os.path.relpath(os.path.join(d, n), at) for d, names, _ in os.walk(at) for n in names)
        if not dirs:
            return "checkpoint", None
        d = pick(rng, dirs)
        shutil.rmtree(os.path.join(at, d))
        return "checkpoint", f"directory {d} removed"
    if what == 10:
        dirs = ["."] + sorted(os.path.relpath(os.path.join(d, n), at) for d, names, _ in os.walk(at) for n in names)
        d = pick(rng, dirs)
        name = pick(rng, ["notes.txt", "_METADATA", "manifest.ocdbt", "_strings.json", ".hidden", "commit_success.txt", "_sharding", "foreign", "a.orbax-checkpoint-tmp-12", "model.safetensors", "orbax.checkpoint"])
        p = os.path.join(at, d, name)
        if os.path.exists(p):
            return "checkpoint", None
        if rng.integers(2):
            os.mkdir(p)
            return "checkpoint", f"directory {os.path.join(d, name)} added"
        with open(p, "wb") as f:
            f.write(pick(rng, [b"", b"hello", b"{}"]))
        return "checkpoint", f"file {os.path.join(d, name)} added"
    if what == 11:
        name = pick(rng, ["checkpoint.orbax-checkpoint-tmp", "checkpoint.orbax-checkpoint-tmp-123", "checkpoint.partial_save", "checkpoint.damaged", "0003", "a b", "ü", "checkpoint.safetensors", "checkpoint.msgpack"])
        os.rename(at, os.path.join(folder, name))
        return name, f"named {name}"
    if what == 12:
        if rng.integers(2):
            return ".", "the directory above"
        dirs = sorted(n for n in os.listdir(at) if os.path.isdir(os.path.join(at, n)))
        if not dirs:
            return "checkpoint", None
        d = pick(rng, dirs)
        return "checkpoint/" + d, f"the directory {d} below"
    dirs = sorted(n for n in os.listdir(at) if os.path.isdir(os.path.join(at, n)))
    if not dirs:
        return "checkpoint", None
    d = pick(rng, dirs)
    name = pick(rng, ["state", "pytree", "other", "metrics", "default", "a b", "AUTO"])
    if os.path.exists(os.path.join(at, name)):
        return "checkpoint", None
    os.rename(os.path.join(at, d), os.path.join(at, name))
    return "checkpoint", f"item {d} renamed to {name}"


def refusal(path, flat):
    """Why Orbax refuses path, or None."""
    from orbax.checkpoint import v1

    said = {}
    for load in (v1.load_checkpointables, v1.load):
        try:
            load(path)
        except Exception as e:  # noqa: BLE001 - whatever it raises, it refuses
            said[load.__name__] = f"{type(e).__name__}: {e}"
    if flat:
        said.pop("load_checkpointables", None)
    elif not any(os.path.exists(os.path.join(path, d, "_METADATA")) for d in os.listdir(path)):
        said.pop("load", None)
    return next(iter(said.values()), None) and " / ".join(said.values()).replace(path, "PATH").replace("\n", " ")[:200]


BASES = 14


def content(folder):
    """What lies below folder: files with their bytes in base64, and directories that are empty."""
    out = {}
    for d, dirs, names in os.walk(folder):
        for n in names:
            if d == folder and n == "case.json":
                continue
            with open(os.path.join(d, n), "rb") as f:
                out[os.path.relpath(os.path.join(d, n), folder)] = base64.b64encode(f.read()).decode()
        if not dirs and not names:
            out[os.path.relpath(d, folder) + "/"] = ""
    return out


def changes(of, to):
    """What makes of one content another: null removes a file."""
    return {n: to.get(n) for n in sorted(of.keys() | to.keys()) if of.get(n) != to.get(n)}


def main(command, root, seed, count, file=None):
    import absl.logging

    absl.logging.set_verbosity(absl.logging.FATAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    root = os.path.abspath(root)
    rng = np.random.default_rng(int(seed))
    bases, cases = [], []
    for i in range(BASES):
        folder = os.path.join(root, "bases", str(i))
        os.makedirs(folder)
        bases.append(new_base(rng, folder, i % 7))
    while len(cases) < int(count):
        of = int(rng.integers(BASES))
        template = os.path.join(root, "bases", str(of))
        folder = os.path.join(root, f"{len(cases):05}")
        shutil.copytree(template, folder)
        how, path = bases[of], "checkpoint"
        if rng.integers(20):
            path, odd = damage(rng, folder)
            how = odd and how + ": " + odd
        if how is None:
            shutil.rmtree(folder)
            continue
        case = {"how": how, "path": path, "flat": how.startswith("v0 flat")}
        case["refused"] = refusal(os.path.normpath(os.path.join(folder, path)), case["flat"])
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump(case, f)
        cases.append(case | {"base": of, "changes": changes(content(template), content(folder))})
    files = {str(i): content(os.path.join(root, "bases", str(i))) for i in range(BASES)}
    if command == "record":
        with open(file, "w", encoding="utf-8") as f:
            f.write('{"bases": ' + json.dumps(files) + ',\n "cases": [\n')
            f.write(",\n".join(json.dumps(c) for c in cases) + "\n]}\n")
    shutil.rmtree(os.path.join(root, "bases"))


if __name__ == "__main__":
    main(*sys.argv[1:])
