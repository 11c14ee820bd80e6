"""What a checkpoint must hold, in a form that belongs to neither side.

A case is a directory with a case.json and what was written beside it:

    {"library": "orbax v1.save", "layout": "ocdbt-zarr3", "kind": "tree",
     "path": "checkpoint", "leaves": [LEAF, …]}

    LEAF   {"keys": ["layers", "0", "w"], "kinds": ["dict", "index", "dict"], "kind": KIND, …}
    KIND   "array" and "scalar" with dtype, shape and data (base64 of the bytes in C order,
           little-endian, one byte an element for narrow types, signed ones sign-extended),
           "prng_key" with impl as well, "string" with text,
           "none", "empty_dict", "empty_list", "empty_tuple"
"""

import base64
import json
import os

import numpy as np

from values import canonical, from_canonical


def flatten(node, keys=(), kinds=()):
    """Yields (keys, kinds, leaf or empty container)."""
    if isinstance(node, dict) and node:
        for k, child in node.items():
            yield from flatten(child, keys + (str(k),), kinds + ("dict",))
    elif isinstance(node, (list, tuple)) and node:
        for i, child in enumerate(node):
            yield from flatten(child, keys + (str(i),), kinds + ("index",))
    else:
        yield keys, kinds, node


def is_key(v):
    import jax

    return isinstance(v, jax.Array) and jax.dtypes.issubdtype(v.dtype, jax.dtypes.prng_key)


def describe(v):
    """The leaf as KIND and what belongs to it."""
    if v is None:
        return {"kind": "none"}
    if isinstance(v, str):
        return {"kind": "string", "text": v}
    for t, kind in ((dict, "empty_dict"), (list, "empty_list"), (tuple, "empty_tuple")):
        if isinstance(v, t):
            return {"kind": kind}
    if type(v) in (bool, int, float):
        return array(np.asarray(v), "scalar")
    if is_key(v):
        import jax

        return array(jax.random.key_data(v), "prng_key") | {"impl": str(jax.random.key_impl(v))}
    return array(v, "array")


def array(a, kind):
    a = np.asarray(a)
    name = a.dtype.newbyteorder("<").name if a.dtype.byteorder == ">" else a.dtype.name
    return {"kind": kind, "dtype": name, "shape": list(a.shape), "data": base64.b64encode(canonical(a)).decode()}


def leaves(tree):
    return [{"keys": list(keys), "kinds": list(kinds)} | describe(v) for keys, kinds, v in flatten(tree)]


def value(leaf):
    """The leaf itself, of any kind but a typed key."""
    match leaf["kind"]:
        case "none":
            return None
        case "string":
            return leaf["text"]
        case "empty_dict" | "empty_list" | "empty_tuple":
            return {"empty_dict": {}, "empty_list": [], "empty_tuple": ()}[leaf["kind"]]
    a = from_canonical(base64.b64decode(leaf["data"]), leaf["dtype"], leaf["shape"])
    return a.item() if leaf["kind"] == "scalar" else a


def tree(leaves, of=value):
    """The dictionaries and lists of a case, with of(leaf) for each leaf: the inverse of leaves."""
    root = {}
    for leaf in leaves:
        at = root
        for i, key in enumerate(leaf["keys"][:-1]):
            at = at.setdefault(key, {"list?": leaf["kinds"][i + 1] == "index"})
        at[leaf["keys"][-1]] = of(leaf)
    return lists(root)


def lists(node):
    """Dictionaries that stand for lists, as lists."""
    if not isinstance(node, dict):
        return node
    is_list = node.pop("list?", False)
    items = {k: lists(v) for k, v in node.items()}
    return [items[str(i)] for i in range(len(items))] if is_list else items


def store(folder, case):
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
        json.dump(case, f, ensure_ascii=False)


def load(folder):
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        return json.load(f)


def short(leaf):
    """A leaf in a few words."""
    if leaf is None:
        return "nothing"
    if "dtype" in leaf:
        data = base64.b64decode(leaf["data"])
        return f"{leaf['kind']} {leaf['dtype']}{leaf['shape']} {data[:16].hex()}{'…' if len(data) > 16 else ''}"
    return leaf["kind"] + (f" {leaf['text']!r}" if "text" in leaf else "")


def differences(want, got, loose=()):
    """Compares two lists of leaves; returns a list of texts.

    loose are pairs of kinds that count as equal in this direction.
    """

    def index(ls):
        return {tuple(l["keys"]): l for l in ls}

    w, g, out = index(want), index(got), []
    for keys in w.keys() | g.keys():
        a, b = w.get(keys), g.get(keys)
        if a is not None and b is not None:
            if (a["kind"], b["kind"]) in loose:
                a = a | {"kind": b["kind"]}
            if {k: v for k, v in a.items() if k != "kinds"} == {k: v for k, v in b.items() if k != "kinds"}:
                continue
        out.append(f"{'/'.join(map(repr, keys))}: wrote {short(a)}, read {short(b)}")
    return sorted(out)
