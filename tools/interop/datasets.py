"""Small data sets for readers of random pipelines: archives as the package webdataset writes them, arrays by numpy, LMDB by py-lmdb.

They lie in the folder data/set. Each function returns the arguments of the reader.
"""

import json
import os

import numpy as np

ROOT = "data/set"


def payload(k):
    return f"{k:07d}".encode() * (1 + k % 3)


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def field(number, value):
    """A field of protobuf: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def webdataset(samples, r):
    import webdataset as wds

    os.makedirs(ROOT, exist_ok=True)
    shards = r.randint(1, 3)
    paths = [f"{ROOT}/shard-{s}.tar" for s in range(shards)]
    for s, path in enumerate(paths):
        with wds.TarWriter(path) as w:
            for k in range(s * samples // shards, (s + 1) * samples // shards):
                sample = {"__key__": f"dir/{k:04d}", "txt": f"text {k}", "cls": k, "png" if k % 2 else "jpg": payload(k)}
                if k % 5 == 4:
                    del sample["png" if k % 2 else "jpg"]
                w.write(sample)
    ext = [["txt"], ["jpg;png", "cls"], ["cls", "txt", "JPG;PNG"]][r.randrange(3)]
    args = {"paths": paths, "ext": ext, "missing_component_behavior": r.choice(["empty", "skip"])}
    if "JPG;PNG" in ext:
        if r.randrange(2):
            args["case_sensitive_extensions"] = False
        else:  # no sample has the component
            args["missing_component_behavior"] = "empty"
    return args


def numpy(samples, r):
    os.makedirs(ROOT, exist_ok=True)
    dtype = r.choice([np.float32, np.int16, np.uint8])
    for k in range(samples):
        a = (np.arange((2 + k % 3) * 4).reshape(2 + k % 3, 4) + 10 * k).astype(dtype)
        np.save(f"{ROOT}/a{k:03d}.npy", np.asfortranarray(a) if k % 4 == 3 else a)
    args = {"file_root": ROOT}
    if r.randrange(2):
        args.update(roi_start=[0, 1], roi_shape=[2, 2])
    return args


def coco(samples, r):
    os.makedirs(ROOT, exist_ok=True)
    images, notes = [], []
    for k in range(samples):
        name = f"im{k:03d}.jpg"
        with open(f"{ROOT}/{name}", "wb") as f:
            f.write(payload(k))
        w, h = 100 + 7 * k, 80 + 5 * k
        images.append({"id": 1000 + 3 * k, "width": w, "height": h, "file_name": name})
        for j in range(k % 4):
            x, y, bw, bh = 3.5 * j + k % 20, 2.25 * j + 1, 20.5 + j, 10.75 + k
            notes.append({"id": len(notes) + 1, "image_id": 1000 + 3 * k, "category_id": [3, 7, 18, 44][(k + j) % 4], "bbox": [x, y, bw, bh],
                          "area": bw * bh, "iscrowd": 0, "segmentation": [[x, y, x + bw, y, x + bw, y + bh, x, y + bh]]})
    with open(ROOT + "/ann.json", "w") as f:
        json.dump({"images": images, "annotations": notes, "categories": [{"id": c, "name": f"cat{c}"} for c in (3, 7, 18, 44)]}, f)
    args = {"file_root": ROOT, "annotations_file": ROOT + "/ann.json"}
    for name in ("ltrb", "ratio", "polygon_masks", "image_ids", "avoid_class_remapping"):
        if r.randrange(3) == 0:
            args[name] = True
    return args


def lmdb(path, values):
    import lmdb as package

    env = package.open(path, map_size=1 << 24, lock=False)
    with env.begin(write=True) as t:
        for k, v in enumerate(values):
            t.put(f"{k:08d}".encode(), v)
    env.close()


def caffe(samples, _):
    os.makedirs(ROOT, exist_ok=True)
    lmdb(ROOT + "/db", [field(1, 3) + field(2, 1) + field(3, 1) + field(4, payload(k)) + field(5, k) + field(7, 1) for k in range(samples)])
    return {"path": [ROOT + "/db"]}


def caffe2(samples, _):
    os.makedirs(ROOT, exist_ok=True)
    lmdb(ROOT + "/db", [field(1, field(2, 4) + field(6, payload(k))) + field(1, field(1, 1) + field(2, 2) + field(4, k)) for k in range(samples)])
    return {"path": [ROOT + "/db"], "label_type": 0}


KINDS = {"webdataset": webdataset, "numpy": numpy, "coco": coco, "caffe": caffe, "caffe2": caffe2}
