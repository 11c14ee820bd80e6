"""Folders that Megatron-Energon prepares, with the samples that it reads out of them.

    energon_sets.py DIR      # megatron-energon 7.4.1

Below DIR each case is a folder with WebDataset archives and .nv-meta. DIR/expect.json has for each
case and split the keys and texts of the samples, in the order in which Energon reads them.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

from megatron.energon import WorkerConfig, get_loader
from megatron.energon.dataset_config import get_dataset_from_config

ROOT = sys.argv[1]


def archives(path, n):
    os.makedirs(os.path.join(path, "sub"))
    for s in range(n):
        with tarfile.open(os.path.join(path, f"sub/shard_{s:03d}.tar"), "w") as t:
            for i in range(3 * s, 3 * s + 3):
                for end, b in (("txt", f"text {i}".encode()), ("json", b'{"n": %d}' % i)):
                    m = tarfile.TarInfo(f"{i:04d}.{end}")
                    m.size = len(b)
                    t.addfile(m, io.BytesIO(b))


def case(name, *options):
    path = os.path.join(ROOT, name)
    archives(path, 4)
    subprocess.run([os.path.join(os.path.dirname(sys.executable), "energon"), "prepare", ".", "--non-interactive", "--sample-type", "CrudeWebdataset",
                    "--num-workers", "1", *options], cwd=path, check=True, stdout=subprocess.DEVNULL)
    splits = {}
    with open(os.path.join(path, ".nv-meta/split.yaml")) as f:
        have = [line.strip()[:-1] for line in f if line.startswith("  ") and line.strip().endswith(":")]
    for split in have:
        d = get_dataset_from_config(path, split_part=split, worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0), training=False)
        rows = [(s["__key__"].split("/")[-1], s["txt"] if isinstance(s["txt"], str) else s["txt"].decode()) for s in get_loader(d.build())]
        if rows:
            splits[split] = rows
    for f in ("index.sqlite", "index.uuid"):  # not read
        os.remove(os.path.join(path, ".nv-meta", f))
    for f in os.listdir(os.path.join(path, "sub")):
        if f.endswith(".idx"):  # likewise
            os.remove(os.path.join(path, "sub", f))
    print(name, {s: len(r) for s, r in splits.items()})
    return {"name": name, "splits": splits}


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    cases = [case("ratio", "--split-ratio", "2,1,1"),
             case("parts", "--split-parts", "train:sub/shard_{002..003}.tar", "--split-parts", "val:sub/shard_00[0-1].tar"),
             case("excluded", "--split-ratio", "2,1,0", "--exclude", "shard_001")]
    with open(os.path.join(ROOT, "expect.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


main()
