#!/usr/bin/env python3
"""Converts states of torchdata's StatefulDataLoader between files of torch.save and the
JSON that Bivouac reads and writes.

    state.py to-json STATE.pt STATE.json      for Bivouac's LoadStateDict
    state.py from-json STATE.json STATE.pt    for torchdata's load_state_dict

    --key PATH    the state is a part of the file: members by their names, joined by dots,
                  as in --key trainer.dataloader
    --unsafe      reads files that hold more than tensors and plain values; that runs what
                  is in the file

Needs torch; numpy where a state holds arrays. As a module: encode(value), decode(value).

The JSON of a value is itself, with these exceptions; integers are exact, of any size.

    tensor        {"tensor": dtype, "shape": [...], "hex": bytes, little-endian}
    numpy array   {"numpy": dtype, "shape": [...], "hex": ...}; scalar {"numpy_scalar": dtype, "hex": ...}
    tuple         {"tuple": [...]}
    bytes         {"bytes": hex}
    float         {"float": hex}
    dict with keys that are no strings, or look like one of these   {"dict": [[key, value], ...]}
"""

import argparse
import json
import sys

MARKS = ({"tensor", "shape", "hex"}, {"numpy", "shape", "hex"}, {"numpy_scalar", "hex"}, {"tuple"}, {"bytes"}, {"float"}, {"dict"})


def encode(x):
    """The JSON of a value."""
    import torch

    if isinstance(x, torch.Tensor):
        x = x.detach().cpu().contiguous()
        raw = x.reshape(-1).view(torch.uint8) if x.numel() else torch.empty(0, dtype=torch.uint8)
        return {"tensor": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "hex": bytes(raw.tolist()).hex()}
    if type(x).__module__ == "numpy":
        import numpy as np

        if isinstance(x, np.ndarray):
            return {"numpy": str(x.dtype), "shape": list(x.shape), "hex": np.ascontiguousarray(x).tobytes().hex()}
        return {"numpy_scalar": str(x.dtype), "hex": x.tobytes().hex()}
    if isinstance(x, dict):
        if all(isinstance(k, str) for k in x) and set(x) not in MARKS:
            return {k: encode(v) for k, v in x.items()}
        return {"dict": [[encode(k), encode(v)] for k, v in x.items()]}
    if isinstance(x, tuple):
        return {"tuple": [encode(v) for v in x]}
    if isinstance(x, list):
        return [encode(v) for v in x]
    if isinstance(x, (bytes, bytearray)):
        return {"bytes": bytes(x).hex()}
    if isinstance(x, float):
        return {"float": x.hex()}
    if x is None or isinstance(x, (bool, int, str)):
        return x
    raise TypeError(f"a state with a {type(x).__name__} has no form in JSON")


def decode(x):
    """The reverse of encode."""
    if isinstance(x, list):
        return [decode(v) for v in x]
    if not isinstance(x, dict):
        return x
    keys = set(x)
    if keys == MARKS[0]:
        return tensor(x)
    if keys == MARKS[1] or keys == MARKS[2]:
        import numpy as np

        a = np.frombuffer(bytes.fromhex(x["hex"]), dtype=np.dtype(x.get("numpy") or x["numpy_scalar"]))
        return a.reshape(x["shape"]).copy() if "numpy" in x else a[0]
    if keys == {"tuple"}:
        return tuple(decode(v) for v in x["tuple"])
    if keys == {"bytes"}:
        return bytes.fromhex(x["bytes"])
    if keys == {"float"}:
        return float.fromhex(x["float"])
    if keys == {"dict"}:
        return {decode(k): decode(v) for k, v in x["dict"]}
    return {k: decode(v) for k, v in x.items()}


def tensor(x):
    import torch

    dtype = getattr(torch, x["tensor"], None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{x['tensor']!r} is no dtype of torch")
    raw = bytearray.fromhex(x["hex"])
    flat = torch.frombuffer(raw, dtype=torch.uint8).view(dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(x["shape"]).clone()


def part(state, path):
    for name in path.split(".") if path else []:
        state = state[name]
    return state


def within(path, state):
    for name in reversed(path.split(".") if path else []):
        state = {name: state}
    return state


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", choices=["to-json", "from-json"])
    ap.add_argument("source")
    ap.add_argument("target")
    ap.add_argument("--key", default="")
    ap.add_argument("--unsafe", action="store_true")
    a = ap.parse_args()
    import torch

    if sys.byteorder != "little":
        sys.exit("state.py: needs a little-endian machine")
    if a.command == "to-json":
        state = part(torch.load(a.source, map_location="cpu", weights_only=not a.unsafe), a.key)
        with open(a.target, "w") as f:
            json.dump(encode(state), f, separators=(",", ":"))
            f.write("\n")
        return
    with open(a.source) as f:
        state = json.load(f)
    torch.save(within(a.key, decode(state)), a.target)


if __name__ == "__main__":
    main()
