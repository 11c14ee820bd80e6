"""Data sets that litdata writes, with the samples that it reads out of them.

    litdata_sets.py DIR      # versions: testdata/litdata/README.md

Below DIR each case is a folder. DIR/expect.json has for each case the arguments of the reader, the
fields, and for each sample and field {"dtype", "shape", "hex"}. A line for each case is printed.
"""

import io
import json
import os
import shutil
import sys

os.environ["LITDATA_DISABLE_VERSION_CHECK"] = "1"
import numpy as np
import PIL.Image
import torch
from litdata import StreamingDataset
from litdata.streaming.item_loader import PyTreeLoader, TokensLoader
from litdata.streaming.writer import BinaryWriter

ROOT = sys.argv[1]
EXPECT = []


def value(v):
    if isinstance(v, torch.Tensor):
        v = v.numpy()
    if isinstance(v, PIL.Image.Image):
        v = np.atleast_3d(np.asarray(v))
    if isinstance(v, str):
        v = v.encode()
    if isinstance(v, bytes):
        return {"dtype": "uint8", "shape": [len(v)], "hex": v.hex()}
    v = np.asarray(v)
    return {"dtype": str(v.dtype), "shape": list(v.shape), "hex": np.ascontiguousarray(v).tobytes().hex()}


def leaves(x):
    if isinstance(x, dict):
        return [v for e in x.values() for v in leaves(e)]
    if isinstance(x, (list, tuple)):
        return [v for e in x for v in leaves(e)]
    return [x]


def case(name, fields, items, block=None, raw=None, **options):
    path = os.path.join(ROOT, name)
    w = BinaryWriter(path, item_loader=TokensLoader(block_size=block) if block else None, **options)
    for i, item in enumerate(items):
        w[i] = item
    w.done(), w.merge()
    if raw is None:  # as litdata reads them
        loader = TokensLoader(block_size=block) if block else PyTreeLoader()
        copy = os.path.join(ROOT, ".copy")  # litdata replaces compressed chunks where it reads
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(path, copy)
        read = [leaves(x) for x in StreamingDataset(copy, item_loader=loader, shuffle=False)]
        shutil.rmtree(copy)
    else:  # without its decoding
        read = raw
    args = {"block_size": block} if block else {}
    EXPECT.append({"name": name, "args": args, "fields": fields, "rows": [[value(v) for v in row] for row in read]})
    print(name, len(read), json.load(open(os.path.join(path, "index.json")))["config"]["data_format"])
    for f in os.listdir(path):
        if f not in ("index.json",) and not f.endswith(".bin"):
            shutil.rmtree(os.path.join(path, f), ignore_errors=True)


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    case("dict", ["i", "t", "b", "f", "yes", "a"], [{"i": 3 * i - 4, "t": f"text {i} ü", "b": bytes([i] * i), "f": i / 2, "yes": i % 2 == 0, "a": np.arange(i)} for i in range(8)], chunk_size=3)
    case("text", ["value"], [f"only {i}" for i in range(4)], chunk_size=3)
    case("tuple", ["0", "1"], [(i, f"s{i}") for i in range(5)], chunk_size=2)
    case("nested", ["a.x", "a.y", "z.0", "z.1"], [{"a": {"x": i, "y": str(i)}, "z": (i + 1, bytes([i]))} for i in range(4)], chunk_size=2)
    kinds = [torch.float32, torch.float64, torch.float16, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]
    names = [str(k).split(".")[1] for k in kinds]
    case("tensors", names, [{n: torch.arange(i + 1).to(k) for n, k in zip(names, kinds)} for i in range(3)], chunk_size=2)
    case("matrices", names, [{n: (torch.arange(2 * i + 2).reshape(2, i + 1) % 2).to(k) for n, k in zip(names, kinds)} for i in range(3)], chunk_size=2)
    case("scalars", ["s"], [{"s": torch.tensor(i, dtype=torch.int64)} for i in range(3)], chunk_size=2)
    types = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]
    case("arrays", types, [{n: np.arange(i + 2).astype(n) for n in types} for i in range(3)], chunk_size=2)
    case("cubes", types, [{n: (np.arange(2 * i + 2) % 2).reshape(2, i + 1, 1).astype(n) for n in types} for i in range(3)], chunk_size=2)
    pictures = [PIL.Image.fromarray(np.full((2, i + 1, 3), i, np.uint8)) for i in range(3)]
    case("pictures", ["image", "label"], [{"image": p, "label": i} for i, p in enumerate(pictures)], chunk_size=2)
    gray = [PIL.Image.fromarray(np.full((2, i + 1), i, np.uint8)) for i in range(3)]
    case("gray", ["image"], [{"image": p} for p in gray], chunk_size=2)
    jpegs = []
    for i, p in enumerate(pictures):
        p.save(os.path.join("/tmp", f"litdata-{i}.jpg"), "jpeg")
        jpegs.append(os.path.join("/tmp", f"litdata-{i}.jpg"))
    files = [open(p, "rb").read() for p in jpegs]
    case("jpegs", ["image", "label"], [{"image": PIL.Image.open(p), "label": i} for i, p in enumerate(jpegs)], chunk_size=2,
         raw=[[f, i] for i, f in enumerate(files)])
    case("zstd", ["0", "1"], [(i, f"sample {i} " * 9) for i in range(7)], chunk_size=3, compression="zstd", compression_level="chunk")
    case("tokens", ["tokens"], [torch.arange(10 * i, 10 * i + 3 + i, dtype=torch.int32) for i in range(6)], block=4, chunk_bytes=64)
    case("tokens16", ["tokens"], [torch.arange(5 * i + 1).to(torch.uint16) for i in range(6)], block=3, chunk_bytes=40)
    for p in jpegs:
        os.remove(p)
    w = BinaryWriter(os.path.join(ROOT, "table"), chunk_size=2)
    for i in range(3):
        w[i] = {"i": i, "t": f"text {i}"}
    w.done(), w.merge()
    case("json", ["j", "i"], [{"j": [i, {"x": str(i)}], "i": i} for i in range(3)], chunk_size=2, raw=[[json.dumps([i, {"x": str(i)}], separators=(",", ":")), i] for i in range(3)])
    w = BinaryWriter(os.path.join(ROOT, "pickles"), chunk_size=2)
    for i in range(3):
        w[i] = {"i": i, "set": {i}}
    w.done(), w.merge()
    with open(os.path.join(ROOT, "expect.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in EXPECT) + "\n]\n")


main()
