"""Record pickles of Python in all protocols. Run it in this folder: python gen.py."""

import collections
import json
import pickle
import pickletools

SHARED = [1]
CYCLE: list = []
CYCLE.append(CYCLE)
VALUES = {
    "none": None,
    "bools": [True, False],
    "ints": [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, -(2**63), 2**63, 2**64, -(2**70)],
    "floats": [0.0, -1.5, 1e300],
    "infinite": [float("inf"), float("-inf")],
    "text": ["", "a", "é\u20ac\U0001f600", "x" * 300, "line\nback\\slash"],
    "bytes": [b"", b"\x00\xff", b"y" * 300],
    "array": bytearray(b"abc"),
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "nested": {"a": {"b": [1, (2, {"c": 3})]}, 5: "five"},
    "shared": [SHARED, SHARED],
    "sets": [{1}, frozenset([2])],
    "ordered": collections.OrderedDict(b=1, a=2),
    "cycle": CYCLE,
    "many": list(range(260)),
}


def describe(value, seen=()):
    if id(value) in seen:
        return "..."
    seen = (*seen, id(value))
    kind = type(value).__name__
    if kind in ("list", "tuple"):
        return [kind, [describe(v, seen) for v in value]]
    if kind in ("set", "frozenset"):
        return ["set", [describe(v, seen) for v in value]]
    if kind in ("dict", "OrderedDict"):
        return [kind, [[describe(k, seen), describe(v, seen)] for k, v in value.items()]]
    if kind in ("bytes", "bytearray"):
        return ["bytes", value.hex()]
    if kind == "str":
        return ["str", value]
    return [kind, repr(value)]


cases = []
for name, value in VALUES.items():
    for protocol in range(6):
        for how in ("dumps", "_dumps"):
            data = getattr(pickle, how)(value, protocol)
            shorter = pickletools.optimize(data) if how == "_dumps" else data
            cases.append([f"{name} {protocol} {how}", shorter.hex(), describe(value)])
with open("vectors.json", "w") as file:
    json.dump(cases, file, indent=0)
