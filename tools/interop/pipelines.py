"""Pipelines that Bivouac serialized run in DALI, and the other way round.

A case is a directory with data, which readers find there, pipe.bin, checkpoint.bin and
truth.json: what the pipeline delivers from the beginning, and after which batch
the checkpoint was taken. See proof/interop/dali.go.
"""

import json
import os
import random
import warnings

import branches
import datasets
import numpy as np
import records


class Feed:
    """What the external sources of one of Bivouac's pipelines are fed with, as proof/interop/branches.go makes it."""

    def __init__(self, truth, start):
        self.names, self.batch, self.next, self.begun = truth.get("fed", {}), truth.get("batch", 0), start, False

    def give(self, pipe):
        count = 1
        if self.names and not self.begun:
            pipe.build()
            count, self.begun = pipe.input_feed_count(next(iter(self.names))), True
        for _ in range(count if self.names else 0):
            ints = [np.array([self.next * 100 + s], np.int32) for s in range(self.batch)]
            floats = [np.array([self.next, s / 4], np.float32) for s in range(self.batch)]
            for name, output in self.names.items():
                pipe.feed_input(name, (ints, floats)[output])
            self.next += 1


def batches(pipe, n, feed=None):
    out = []
    for _ in range(n):
        if feed:
            feed.give(pipe)
        lists = []
        for o in pipe.run():
            samples = [np.ascontiguousarray(np.array(o[i])) for i in range(len(o))]
            lists.append({"dtype": str(samples[0].dtype), "layout": o.layout(), "samples": [{"shape": list(s.shape), "data": s.tobytes().hex()} for s in samples]})
        out.append(lists)
    return out


def difference(what, got, want):
    """The first difference of batches, or None."""
    for i, (g, w) in enumerate(zip(got, want)):
        for k, (a, b) in enumerate(zip(g, w)):
            if a != b:
                return f"{what}: batch {i}, output {k}: {str(a)[:300]}, Bivouac gives {str(b)[:300]}"
    return None if len(got) == len(want) else f"{what}: {len(got)} batches of {len(want)}"


def loaded(checkpoint=None):
    """The pipeline of pipe.bin, at its beginning or at a checkpoint."""
    import nvidia.dali as dali

    with open("pipe.bin", "rb") as f:
        text = f.read()
    if checkpoint is None:
        return dali.Pipeline.deserialize(text)
    # the class method takes a checkpoint as well, and forgets it
    p = dali.Pipeline(device_id=None, enable_checkpointing=True, checkpoint=checkpoint)
    p.deserialize_and_build(text)
    return p


def read_case():
    """What differs between DALI and Bivouac, or None."""
    with open("truth.json") as f:
        truth = json.load(f)
    with open("checkpoint.bin", "rb") as f:
        checkpoint = f.read()
    begin, rest = truth["batches"][: truth["after"]], truth["batches"][truth["after"] :]
    p, feed = loaded(), Feed(truth, 0)
    found = difference("from the beginning", batches(p, len(begin), feed), begin)
    found = found or different_checkpoint(p, checkpoint, truth.get("idle", []))
    return found or difference("going on", batches(p, len(rest), feed), rest) or difference("from Bivouac's checkpoint", batches(loaded(checkpoint), len(rest), Feed(truth, truth["after"])), rest)


def entries(checkpoint):
    """The entries of a checkpoint, name and state in order, and what else is in it."""

    def number(b, i):
        value = shift = 0
        while True:
            value |= (b[i] & 127) << shift
            shift, i = shift + 7, i + 1
            if b[i - 1] < 128:
                return value, i

    def fields(b):
        i = 0
        while i < len(b):
            key, i = number(b, i)
            size, i = number(b, i)
            yield key >> 3, b[i:i + size]
            i += size

    return [tuple(dict(fields(body)).get(k, b"") for k in (1, 2)) if key == 1 else (key, body) for key, body in fields(checkpoint)]


def taken(p):
    """The checkpoint of a pipeline, or None: DALI cannot take one where a random operator has never had a sample."""
    try:
        return p.checkpoint()
    except RuntimeError as e:
        if "bad any_cast" not in str(e):
            raise
        return None


def different_checkpoint(p, want, idle):
    """How DALI's checkpoint differs from Bivouac's, or None.

    Of a random operator of a branch to which no sample of the last batch came, DALI's
    checkpoint has the state of an earlier batch, or none, and then cannot be taken.
    """
    got = taken(p)
    if got == want or got is None and idle:
        return None
    told = f"the checkpoint is {got!r}, Bivouac's {want!r}"
    if got is None:
        return told
    ours, theirs = entries(want), entries(got)
    same = len(ours) == len(theirs) and all(a == b or a[0] == b[0] and a[0] in [n.encode() for n in idle] for a, b in zip(ours, theirs))
    return None if same else told


def each_case(root, do):
    back = os.getcwd()
    failed = 0
    names = sorted(n for n in os.listdir(root) if os.path.isdir(os.path.join(root, n)))
    for name in names:
        os.chdir(os.path.join(root, name))
        try:
            found = do()
        except Exception as e:  # noqa: BLE001
            found = f"{type(e).__name__}: {e}"
        os.chdir(back)
        if found:
            failed += 1
            print(f"{os.path.join(root, name)}: {found}")
    return failed, len(names)


def read(root):
    failed, n = each_case(root, read_case)
    print(f"Bivouac's pipelines in DALI: {n - failed} of {n} equal")
    return failed


OLDER = {"random.coin_flip": "coin_flip", "random.uniform": "uniform", "readers.file": "file_reader"}  # names that DALI deprecates


class Maker:
    """Random graphs of operators whose results are equal to the bit."""

    def __init__(self, r, samples):
        self.r, self.samples, self.used = r, samples, []

    def flip(self):
        return self.r.random() < 0.5

    def call(self, operator, /, *inputs, **args):
        import nvidia.dali.fn as fn

        if operator in OLDER and self.r.randrange(4) == 0:
            operator = OLDER[operator]
        self.used.append(operator)
        f = fn
        for part in operator.split("."):
            f = getattr(f, part)
        return f(*inputs, **args)

    def outputs(self):
        out = list(self.reader()) if self.flip() else []
        for _ in range(self.r.randint(1, 3)):
            make, change = (self.image, self.change_image) if self.flip() else (self.numbers, self.change)
            n = make()
            for _ in range(self.r.randint(0, 3)):
                n = change(n)
            if self.r.randrange(4) == 0:
                n = self.cast(n, ["FLOAT16", "FLOAT64"])
            out.append(n)
        self.r.shuffle(out)
        return out

    def reader(self):
        r = self.r
        kind = r.choice(["file", "file", "tfrecord", "mxnet", "webdataset", "numpy", "coco", "caffe", "caffe2"])
        if kind in datasets.KINDS:
            a = datasets.KINDS[kind](self.samples, r)
        else:
            a = {"file": lambda n: {"file_root": "data"}, "tfrecord": records.tfrecords, "mxnet": records.recordio}[kind](self.samples)
        if self.flip():
            a.update(random_shuffle=True, initial_fill=r.randint(1, 8))
        elif self.flip() and not kind.startswith("caffe"):
            a.update(shuffle_after_epoch=True)
        elif self.flip():
            a.update(stick_to_shard=True)
        if self.flip():
            n = r.randint(1, min(3, self.samples))
            a.update(num_shards=n, shard_id=r.randrange(n))
        if self.flip():
            a.update(pad_last_batch=True)
        if self.flip():
            a.update(name="reader")
        if self.flip():
            a.update(seed=r.randrange(1000))
        if kind == "tfrecord":
            return self.call("readers.tfrecord", features=records.features(), **a).values()
        found = self.call("readers." + kind, **a)
        return found if isinstance(found, (list, tuple)) else [found]  # one output comes alone

    def numbers(self):
        r = self.r
        shape = r.choice([[4, 6], [4, 6, 3]])
        self.ndim = len(shape)
        if self.flip():
            return self.call("random.coin_flip", probability=r.randrange(5) / 4, shape=shape)
        return self.call("random.uniform", range=[-4.0, float(r.randrange(100))], shape=shape)

    def cast(self, n, names):
        import nvidia.dali.types as types

        return self.call("cast", n, dtype=getattr(types, self.r.choice(names)))

    def change(self, n):
        r = self.r
        kind = r.randrange(9)
        if kind == 0:
            return self.cast(n, ["UINT8", "INT16", "INT32", "INT64", "FLOAT"])
        if kind == 1:
            return self.call("transpose", n, perm=r.sample(range(self.ndim), self.ndim))
        if kind == 2 and self.grow():
            return self.call("expand_dims", n, axes=[0])
        if kind == 3:
            return self.call("copy", n)
        if kind == 4:
            return self.call("pad", n, fill_value=2.5, align=[4], axes=[0])
        if kind == 5 and self.grow():
            return self.call("stack", n, n, axis=0)
        if kind == 6:
            return self.call("cat", n, n, axis=self.ndim - 1)
        if kind == 7:
            self.used.append("arithmetic")
            return n * 2 + 3
        return self.call("reductions.max", n, axes=[0], keep_dims=True)

    def image(self):
        import nvidia.dali.types as types

        n = self.call("random.uniform", range=[0.0, 255.0], shape=[20, 30, 3], dtype=types.UINT8)
        return self.call("reshape", n, layout="HWC")

    def change_image(self, n):
        import nvidia.dali.types as types

        r = self.r
        kind = r.randrange(5)
        if kind == 0:
            return self.call("flip", n, horizontal=self.call("random.coin_flip"), vertical=r.randrange(2))
        if kind == 1:
            return self.call("crop", n, crop=[2, 3], crop_pos_x=self.call("random.uniform", range=[0.0, 1.0]), crop_pos_y=0.25)
        if kind == 2:
            return self.call("noise.salt_and_pepper", n, prob=0.25)
        if kind == 3:
            return self.call("brightness_contrast", n, brightness=self.call("random.uniform", range=[0.5, 1.5]), contrast=1.25)
        return self.call("resize", n, size=[7, 5], interp_type=types.INTERP_NN, antialias=False)

    def grow(self):
        if self.ndim < 5:
            self.ndim += 1
            return True
        return False


def write_case(r):
    import nvidia.dali as dali

    samples = r.randint(3, 22)
    for k in range(samples):
        os.makedirs(f"data/c{k * 3 // samples}", exist_ok=True)
        with open(f"data/c{k * 3 // samples}/f{k:05d}.jpg", "w") as f:
            f.write(f"{k:07d}")
    options = {"batch_size": r.randint(1, 6), "num_threads": 2, "device_id": None, "seed": r.randrange(1 << 20), "enable_checkpointing": True}
    if r.randrange(2):
        p, used = branches.pipeline(r, **options)
    else:
        p, make = dali.Pipeline(**options), Maker(r, samples)
        with p:
            p.set_outputs(*make.outputs())
        used = make.used
    with open("pipe.bin", "wb") as f:
        f.write(p.serialize())
    after = r.randint(1, 7)
    begin = batches(p, after)
    checkpoint = taken(p)
    with open("checkpoint.bin", "wb") as f:
        f.write(checkpoint or b"")
    rest = batches(p, 4)
    truth = {"after": after, "ops": sorted(set(used)), "batches": begin + rest, "untaken": checkpoint is None}
    if checkpoint is not None:
        resumed = batches(loaded(checkpoint), 4)
        if resumed != rest:  # see different_checkpoint
            truth["resumed"] = resumed
    with open("truth.json", "w") as f:
        json.dump(truth, f)


def write(root, seed, n):
    warnings.simplefilter("ignore")
    for i in range(n):
        os.makedirs(os.path.join(root, f"{i:03d}"))
    order = iter(range(n))
    failed, _ = each_case(root, lambda: write_case(random.Random(seed * 1000 + next(order))))
    return failed
