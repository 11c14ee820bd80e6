#!/usr/bin/env python3
"""Records cases of single operators from live DALI: cases.py OUT FILES (testdata/dali/ops/recorded, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md. Inputs are literals, large images are
made of small ones by nearest neighbours, and results of more than a few numbers are kept as a hash:
only results that are exact are recorded so. Two runs give the same bytes.
"""
import hashlib
import io
import json
import os
import random
import sys
import tempfile

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from PIL import Image

import windows

R, N = random.Random(2), np.random.RandomState(2)
CASES = []
INLINE = 64  # numbers that are written down; more are a hash, unless they are floats


def enum(name):
    return {"type": name}


def f(lo, hi):
    return round(R.uniform(lo, hi), R.choice([1, 2, 3, 6]))


def maybe(p=0.5):
    return R.random() < p


def image(h, w, c=3, dtype="uint8"):
    if dtype == "float32":
        a = (N.rand(h, w, c) * 255).astype(np.float32)
    else:
        a = N.randint(0, 256, (h, w, c)).astype(dtype)
    return a


def literal(a, layout=None):
    s = {"value": a.tolist(), "dtype": str(a.dtype)}
    return {**s, "layout": layout} if layout else s


def file(b):
    return literal(np.frombuffer(b, np.uint8))


def node(ast, inputs):
    """Builds the operators of an expression: a call, a list, a name or a constant."""
    kind = ast[0]
    if kind == "name":
        return getattr(types, ast[1][6:]) if ast[1].startswith("types.") else inputs[ast[1]]
    if kind == "const":
        return ast[1]
    if kind in ("list", "tuple"):
        return [node(x, inputs) for x in ast[1]]
    if kind == "index":
        return node(ast[1], inputs)[index(ast[2], inputs)]
    if kind == "call" and ast[1] == "newaxis":
        return dali.newaxis(*[x[1] for x in ast[2]])
    g = inputs if ast[1].split(".")[0] in inputs else dali
    for part in ast[1].split("."):
        g = g[part] if isinstance(g, dict) else getattr(g, part)
    return g(*[node(x, inputs) for x in ast[2]], **{k: node(v, inputs) for k, v in ast[3].items()})


def index(indices, inputs):
    one = [slice(*[p and node(p, inputs) for p in i[1:]]) if i[0] == "slice" else node(i, inputs) for i in indices]
    return one[0] if len(one) == 1 else tuple(one)


def constant(v):
    return lambda: v


def argument(v):
    if isinstance(v, dict) and "type" in v:
        return getattr(types, v["type"])
    if isinstance(v, dict):
        data = [np.array(x, dtype=v["dtype"]) for x in v["tensor"]]
        return fn.external_source(source=lambda: data, batch=True)
    return v


def given(s):
    """The array that an input is: a file of FILES, a text or a literal."""
    if "file" in s:
        return np.fromfile(os.path.join(FILES, s["file"]), np.uint8)
    if "text" in s:
        return np.frombuffer(s["text"].encode(), np.uint8)
    if "npy" in s:
        return np.load(os.path.join(FILES, s["npy"] + ".npy"))
    return np.array(s["value"], dtype=s["dtype"])


def run(c):
    values = [[given(s) for s in col] for col in c["inputs"]]
    size = len(values[0]) if values else c["batch"]
    with dali.Pipeline(batch_size=size, num_threads=1, device_id=None, seed=c.get("pipe_seed", 1), prefetch_queue_depth=1,
                       exec_pipelined=False, exec_async=False) as p:
        nodes = []
        for col, v in zip(c["inputs"], values):
            layout = col[0].get("layout")
            nodes.append(fn.external_source(source=constant(v), batch=True, **({"layout": layout} if layout else {})))
        if "ast" in c:
            r = node(c["ast"], dict(zip("abcd", nodes)))
        else:
            g = fn
            for part in c["op"].split("."):
                g = getattr(g, part)
            r = g(*nodes, **{k: argument(v) for k, v in c["args"].items()})
        p.set_outputs(*(r if isinstance(r, (list, tuple)) else [r]))
    p.build()
    for n in range(c.get("iters", 1)):
        for k, t in enumerate(p.run()):
            for i in range(len(t)):
                yield n, k, i, t, np.array(t.at(i))


def record(op, inputs, args=None, ast=None, exact=True, group="recorded", **more):
    # group is what the rules of tolerances.json go by; more are batch, iters and pipe_seed.
    c = {**more, "name": "%s_%03d" % (op.replace(".", "_").replace(" ", "_"), len(CASES)), "group": group, "inputs": inputs}
    if ast:
        c.update(expr=op, ast=ast)
    else:
        c.update(op=op, args=args or {})
    try:
        outputs = []
        for n, k, i, t, a in run(c):
            o = {"iter": n, "output": k, "sample": i, "dtype": str(t.dtype).replace("DALIDataType.", ""), "shape": list(a.shape), "layout": t.layout()}
            if a.dtype == np.float32 and (a.size <= INLINE or not exact):
                o["f32"] = ["%08x" % v for v in np.ascontiguousarray(a).view(np.uint32).ravel()]
            elif a.size <= INLINE or not exact:
                o["data"] = a.ravel().tolist()
            o["sha256"] = hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
            outputs.append(o)
        c["outputs"] = outputs
    except Exception as e:
        c["error"] = {"type": type(e).__name__, "message": str(e)[:300].split("\n")[0]}
        text = str(e)
        if "ncountered:" in text:
            c["error"]["message"] = text[text.find("ncountered:") + 11:].strip()[:200].split("\nC++ context")[0]
    CASES.append(c)


def waters():
    for _ in range(20):
        a = {k: f(lo, hi) for k, lo, hi in (("ampl_x", 0, 30), ("ampl_y", 0, 30), ("freq_x", 0, 1), ("freq_y", 0, 1), ("phase_x", -7, 7), ("phase_y", -7, 7))
             if maybe()}
        if maybe():
            a["fill_value"] = f(0, 255)
        a["interp_type"] = enum(R.choice(["INTERP_NN", "INTERP_LINEAR"]))
        record("water", [[literal(image(R.randint(1, 16), R.randint(1, 16), R.choice([1, 3])))]], a, exact=False)


def spheres():
    for _ in range(20):
        a = {"interp_type": enum(R.choice(["INTERP_NN", "INTERP_LINEAR"]))}
        if maybe():
            a["fill_value"] = f(0, 255)
        record("sphere", [[literal(image(R.randint(1, 14), R.randint(1, 14), R.choice([1, 3]), R.choice(["uint8", "float32"])))]], a, exact=False)


def masks():
    for _ in range(24):
        a = {k: f(lo, hi) for k, lo, hi in (("angle", -4, 4), ("ratio", 0, 1), ("shift_x", -20, 20), ("shift_y", -20, 20)) if maybe(0.7)}
        a["tile"] = R.randint(1, 12)
        x = image(R.randint(1, 14), R.randint(1, 14), R.choice([1, 3]), R.choice(["uint8", "float32"]))
        if x.dtype == np.float32 and maybe():
            x[N.rand(*x.shape) < 0.2] = np.nan
            x[N.rand(*x.shape) < 0.1] = np.inf
        record("grid_mask", [[literal(x)]], a, exact=False)


def normalizations():
    for _ in range(16):
        x = image(R.randint(2, 6), R.randint(2, 6), 2, R.choice(["uint8", "float32"]))
        a = {"epsilon": R.choice([0.0, f(0, 2), 1e-8])}
        if maybe():
            a["axes"] = R.choice([[0], [1], [0, 1]])
        if maybe(0.4):
            a["stddev"] = R.choice([0.5, f(0.1, 3)])
        if maybe(0.4):
            a["ddof"] = R.choice([0, 1])
        if maybe(0.4):
            a["scale"] = f(-3, 3)
        record("normalize", [[literal(x)]], a, exact=False)
    for dtype in ("FLOAT", "UINT8", "INT8", "FLOAT"):
        record("crop_mirror_normalize", [[literal(image(3, 4))]], {"std": R.choice([0.0, [0.0, 2.0, 0.0]]), "mean": f(0, 255), "dtype": enum(dtype)}, exact=False)


def slices():
    for i in range(24):
        h, w = R.randint(1, 90), R.randint(1, 9)
        a = {"axes": [0, 1]}
        half = lambda e: (R.randint(0, e) | 1) / 2 / e  # the product lies between two elements
        a["rel_start"] = [min(half(e), 0.5) for e in (h, w)]
        a[["rel_end", "rel_shape"][i % 2]] = [min(0.5 + half(e), 1.0) if i % 2 == 0 else half(e) for e in (h, w)]
        a["out_of_bounds_policy"] = "trim_to_shape"
        record("slice", [[literal(image(h, w, 1))]], a)
    for _ in range(12):
        lay = R.choice(["FHWC", "FCHW", "CFHW", "DHWC"])
        size = {"F": R.randint(2, 5), "D": R.randint(2, 5), "C": 2, "H": R.randint(3, 6), "W": R.randint(3, 6)}
        a = {"crop_d": R.randint(1, 6), "crop_h": R.randint(1, size["H"]), "crop_w": R.randint(1, size["W"]), "crop_pos_z": f(0, 1),
             "out_of_bounds_policy": R.choice(["pad", "trim_to_shape"])}
        record("crop", [[literal(N.randint(0, 256, [size[k] for k in lay]).astype(np.uint8), lay)]], a)


def call(name, args, **kw):
    words = {}
    for k, v in kw.items():
        words[k] = ["name", "types." + v["type"]] if isinstance(v, dict) else ["list", [["const", x] for x in v]] if isinstance(v, list) else ["const", v]
    return ["call", "fn." + name, args, words]


def large():
    nn = enum("INTERP_NN")
    for i in range(12):
        size = [R.randint(300, 1500), R.randint(300, 1500)]
        if i % 3 == 0:
            op, kw = "rotate", dict(angle=f(-360, 360))
        elif i % 3 == 1:
            op, kw = "warp_affine", dict(matrix=[f(-2, 2), f(-2, 2), f(-50, 50), f(-2, 2), f(-2, 2), f(-50, 50)], inverse_map=maybe())
        else:
            op, kw = "sphere", {}
        a = call(op, [call("resize", [["name", "a"]], size=size, interp_type=nn)], interp_type=nn, fill_value=7, **kw)
        record("large " + op, [[literal(image(40, 50, 1))]], ast=a)
    for filter, w, out in (("LANCZOS3", 2000, 1), ("LANCZOS3", 3000, 2), ("CUBIC", 2500, 1), ("LANCZOS3", 1200, 1), ("GAUSSIAN", 5000, 1)):
        wide = call("resize", [["name", "a"]], size=[2, w], interp_type=nn)
        record("wide filter", [[literal(image(2, 70, 1))]], ast=call("resize", [wide], size=[2, out], interp_type=enum("INTERP_" + filter)))
    for _ in range(12):
        a = {"min_filter": enum("INTERP_" + R.choice(["LINEAR", "CUBIC"])), "mag_filter": enum("INTERP_NN"), "size": [R.randint(8, 60), R.randint(8, 60)]}
        record("resize", [[literal(image(R.randint(8, 30), R.randint(8, 30)))]], a)


def encoded(im, format, **k):
    b = io.BytesIO()
    im.save(b, format, **k)
    return b.getvalue()


def images():
    rgb, rgba = Image.fromarray(image(9, 11)), Image.fromarray(image(9, 11, 4), "RGBA")
    cmyk, real = Image.fromarray(image(9, 11, 4), "CMYK"), Image.fromarray((N.rand(6, 7) * 1.4 - 0.2).astype(np.float32))
    jpeg = encoded(rgb, "JPEG", quality=60)
    scan, end = jpeg.find(b"\xff\xda"), jpeg.rfind(b"\xff\xd9")
    files = {
        "bmp": encoded(rgb, "BMP"), "ppm": encoded(rgb, "PPM"), "webp": encoded(rgb, "WEBP", lossless=True), "tiff": encoded(rgb, "TIFF"),
        "tiff_alpha": encoded(rgba, "TIFF"), "tiff_palette": encoded(rgb.convert("P"), "TIFF"), "tiff_cmyk": encoded(cmyk, "TIFF"), "tiff_float": encoded(real, "TIFF"),
        "jpeg_run_at_end": jpeg[:end] + b"\xff" * 7 + jpeg[end:], "jpeg_run_in_scan": jpeg[:scan + 60] + b"\xff" * 7 + b"\x64" + jpeg[scan + 60:],
        "jpeg_cmyk": encoded(cmyk, "JPEG", quality=80),
    }
    for name, b in files.items():
        for color in ("GRAY", "YCbCr", "ANY_DATA"):
            if color == "ANY_DATA" and name == "jpeg_cmyk":
                continue
            dtype = "UINT8" if color == "GRAY" else R.choice(["UINT8", "INT16", "UINT16", "FLOAT"])
            record("decoders.image", [[file(b)]], {"output_type": enum(color), "dtype": enum(dtype)}, exact=False)


def boxes():
    for _ in range(12):
        lo = (N.rand(3, 2) * 0.5).astype(np.float32)
        b = np.concatenate([lo, lo + (N.rand(3, 2) * 0.4 + 0.05).astype(np.float32)], 1)
        a = {"bbox_layout": "xyXY", "seed": R.randint(0, 10 ** 6), "thresholds": [f(0, 0.3), f(0, 0.3)], "threshold_type": R.choice(["iou", "overlap"]),
             "scaling": [0.3, 1.0], "total_num_attempts": 1000, "num_attempts": R.choice([1, 5])}
        a["aspect_ratio"] = [0.5, 2.0]
        record("random_bbox_crop", [[literal(b)]], a, exact=False)
    none = call("slice", [["name", "a"]], start=[0], shape=[0], axes=[0])
    for seed in range(4):
        record("no boxes", [[literal(b)]], ast=call("random_bbox_crop", [none], bbox_layout="xyXY", seed=seed, thresholds=[0.3], allow_no_crop=False, aspect_ratio=[0.5, 2.0],
                                                    scaling=[0.3, 1.0]), exact=False)


def colors():
    for op, words in (("hue", dict(hue=(-180, 180))), ("saturation", dict(saturation=(0, 3))), ("brightness", dict(brightness=(0, 2), brightness_shift=(-0.5, 0.5))),
                      ("contrast", dict(contrast=(0, 2), contrast_center=(0, 200))), ("hsv", dict(hue=(-180, 180), saturation=(0, 3), value=(0, 2)))):
        for _ in range(18):
            a = {k: f(*v) for k, v in words.items() if maybe(0.8)}
            record(op, [[literal(image(R.randint(1, 5), R.randint(1, 5)))]], a, exact=False, group="color")


def shapes():
    for _ in range(18):
        x = N.randint(0, 100, [R.randint(1, 4) for _ in range(3)]).astype(R.choice(["uint8", "int32", "float32"]))
        record("transpose", [[literal(x)]], {"perm": R.sample([0, 1, 2], 3)})
        record("flip", [[literal(x, "HWC")]], {"horizontal": R.randint(0, 1), "vertical": R.randint(0, 1)})
        record("pad", [[literal(x)]], {"fill_value": f(0, 9), "axes": [R.randint(0, 2)], "align": [R.randint(1, 5)]})
        record("cat", [[literal(x)], [literal(x)]], {"axis": R.randint(0, 2)})
        record("stack", [[literal(x)], [literal(x)]], {"axis": R.randint(0, 3)})
        record("erase", [[literal(x, "HWC")]], {"anchor": [f(0, 2), f(0, 2)], "shape": [f(0, 3), f(0, 3)], "axes": [0, 1], "fill_value": f(0, 9)})
        record("one_hot", [[literal(np.array(R.randint(0, 9), dtype=np.int32))]], {"num_classes": R.randint(1, 9)})
        record("coord_flip", [[literal(N.rand(3, 2).astype(np.float32))]], {"layout": "xy", "flip_x": R.randint(0, 1), "flip_y": R.randint(0, 1), "center_x": f(0, 1)})
        record("lookup_table", [[literal(N.randint(0, 12, (5,)).astype(np.uint8))]],
               {"keys": [1, 3, 5, 7], "values": [f(0, 9) for _ in range(4)], "default_value": f(0, 9), "dtype": enum("FLOAT")})
        record("reductions.mean_square", [[literal(x)]], {"axes": [R.randint(0, 2)]}, exact=False, group="reduce")


UNARY = "abs fabs floor ceil sqrt rsqrt cbrt exp log log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()


def functions():
    """Functions of one and two numbers, of all signs, with and without a value that is defined."""
    for name in UNARY:
        for _ in range(18):
            x = (N.randn(4) * R.choice([0.5, 3, 40])).astype(R.choice(["float32", "float32", "int32"]))
            record("math." + name, [[literal(x)]], ast=["call", "math." + name, [["name", "a"]], {}], exact=False, group="arith")
    for name in ("pow", "fpow", "atan2"):
        for _ in range(18):
            kind = R.choice(["float32", "int32"])
            x, y = (N.randn(4) * 4).astype(kind), (np.abs(N.randn(4)) * 3).astype(kind)
            record("math." + name, [[literal(x)], [literal(y)]], ast=["call", "math." + name, [["name", "a"], ["name", "b"]], {}], exact=False, group="arith")
    for _ in range(16):
        x = (N.randn(5) * 9).astype(R.choice(["float32", "int32", "int8"]))
        lo = R.randint(-9, 5)
        record("math.clamp", [[literal(x)]], ast=["call", "math.clamp", [["name", "a"], ["const", lo], ["const", lo + R.randint(0, 9)]], {}], exact=False, group="arith")


def more():
    """What the families before have fewer than 20 cases of, and which Bivouac has."""
    for _ in range(6):
        x = N.randint(0, 100, [R.randint(2, 5) for _ in range(3)]).astype(R.choice(["uint8", "float32"]))
        record("normalize", [[literal(x)]], {"axes": [R.randint(0, 2)], "epsilon": f(0, 3), "shift": f(-2, 2)}, exact=False)
        record("transpose", [[literal(x)]], {"perm": R.sample([0, 1, 2], 3)})
        record("flip", [[literal(x, "HWC")]], {"horizontal": R.randint(0, 1), "vertical": R.randint(0, 1)})
        record("pad", [[literal(x)]], {"fill_value": f(0, 9), "axes": [R.randint(0, 2)], "align": [R.randint(1, 5)]})
        record("cat", [[literal(x)], [literal(x)]], {"axis": R.randint(0, 2)})
        record("stack", [[literal(x)], [literal(x)]], {"axis": R.randint(0, 3)})
        record("erase", [[literal(x, "HWC")]], {"anchor": [f(0, 2), f(0, 2)], "shape": [f(0, 3), f(0, 3)], "axes": [0, 1], "fill_value": f(0, 9)})
        record("one_hot", [[literal(np.array(R.randint(0, 9), dtype=np.int32))]], {"num_classes": R.randint(1, 9)})
        record("coord_flip", [[literal(N.rand(3, 2).astype(np.float32))]], {"layout": "xy", "flip_x": R.randint(0, 1), "flip_y": R.randint(0, 1), "center_x": f(0, 1)})
        record("reductions.mean_square", [[literal(x)]], {"axes": [R.randint(0, 2)]}, exact=False, group="reduce")
    for _ in range(16):
        record("gaussian_blur", [[literal(image(R.randint(3, 7), R.randint(3, 7)), "HWC")]], {"window_size": R.choice([1, 3, 5])}, exact=False, group="filter")
    colors()


def rest():
    """Operators of tensors, colours, reductions and affine maps that had few cases; its random numbers are its own."""
    R.seed(3)
    N.seed(3)
    for _ in range(20):
        x = N.randint(0, 100, [R.randint(1, 4) for _ in range(3)]).astype(R.choice(["uint8", "int32", "float32"]))
        y = N.randint(0, 100, (2, 3, 2)).astype(R.choice(["uint8", "int16", "float32"]))
        record("cast_like", [[literal(x)], [literal(y)]])
        record("copy", [[literal(x)]])
        record("full_like", [[literal(x)], [literal(np.array(R.randint(0, 9), dtype=np.int32))]])
        record("ones_like", [[literal(x)]], {"dtype": enum(R.choice(["FLOAT", "UINT8", "INT64"]))} if maybe() else {})
        record("zeros_like", [[literal(x)]], {"dtype": enum(R.choice(["FLOAT", "UINT8", "INT64"]))} if maybe() else {})
        record("expand_dims", [[literal(x)]], {"axes": sorted(R.sample([0, 1, 2, 3], R.randint(1, 2)))})
        record("squeeze", [[literal(x[:1, :, :1])]], {"axes": R.choice([[0], [2], [0, 2]])})
        record("reshape", [[literal(y)]], {"shape": R.choice([[12], [3, 4], [2, 6], [-1, 2], [1, -1, 3], [6, 2, 1]])})
        record("reinterpret", [[literal(y.astype(np.int32))]], {"dtype": enum(R.choice(["UINT8", "FLOAT", "INT16", "UINT32"]))})
        record("permute_batch", [[literal(x), literal(x + 1), literal(x + 2)]], {"indices": [R.randint(0, 2) for _ in range(3)]})
        record("sequence_rearrange", [[literal(y, "FHW")]], {"new_order": [R.randint(0, 1) for _ in range(R.randint(1, 4))]})
        record("element_extract", [[literal(y, "FHW")]], {"element_map": [R.randint(0, 1)]})
        record("paste", [[literal(image(R.randint(1, 4), R.randint(1, 4)), "HWC")]],
               {"ratio": f(1, 3), "paste_x": f(0, 1), "paste_y": f(0, 1), "fill_value": [R.randint(0, 255) for _ in range(3)]})
        record("color_twist", [[literal(image(R.randint(1, 4), R.randint(1, 4)), "HWC")]],
               {k: f(*v) for k, v in dict(hue=(-180, 180), saturation=(0, 3), brightness=(0, 2), contrast=(0, 2)).items() if maybe(0.7)}, exact=False, group="color")
        record("brightness_contrast", [[literal(image(R.randint(1, 4), R.randint(1, 4)), "HWC")]],
               {k: f(*v) for k, v in dict(brightness=(0, 2), brightness_shift=(-0.5, 0.5), contrast=(0, 2), contrast_center=(0, 200)).items() if maybe(0.7)}, exact=False, group="color")
        for op in ("max", "min", "rms", "std_dev", "sum", "variance"):
            inputs = [[literal(y)]]
            if op in ("std_dev", "variance"):
                inputs.append([literal(np.array(f(0, 50), dtype=np.float32))])
            record("reductions." + op, inputs, {} if op in ("std_dev", "variance") else {"axes": R.sample([0, 1, 2], R.randint(1, 2)), "keep_dims": maybe()}, exact=False, group="reduce")
        record("coord_transform", [[literal((N.rand(3, 2) * 9).astype(np.float32))]], {"M": [f(-2, 2) for _ in range(4)], "T": [f(-5, 5), f(-5, 5)]}, exact=False, group="geom")
        two = [f(-3, 3), f(-3, 3)]
        for op, a in (("translation", {"offset": two}), ("scale", {"scale": two, "center": [f(0, 9), f(0, 9)]}), ("rotation", {"angle": f(-180, 180), "center": [f(0, 9), f(0, 9)]}),
                      ("shear", {"shear": two}), ("crop", {"from_start": [0.0, f(0, 1)], "from_end": [f(1, 2), f(2, 3)], "to_start": two, "to_end": [f(4, 5), f(4, 5)]})):
            record("transforms." + op, [[literal(N.randn(2, 3).astype(np.float32))]], a, exact=False, group="geom")
        record("transforms.combine", [[literal(N.randn(2, 3).astype(np.float32))], [literal(N.randn(2, 3).astype(np.float32))]], {"reverse_order": maybe()}, exact=False, group="geom")


def extent(*letters):
    """A small array with these axes in its layout."""
    return literal(N.randint(0, 99, [R.randint(1, 4) for _ in letters]).astype(R.choice(["uint8", "int16", "int64", "float32", "float64"])), "".join(letters))


DTYPES = ["BOOL", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT", "FLOAT64"]


def values():
    """Operators that make values, convert them, or tell what is known of a sample; its random numbers are its own."""
    R.seed(4)
    N.seed(4)
    for k in range(20):
        shape, dtype = [R.randint(0, 3) for _ in range(R.randint(0, 3))], DTYPES[k % len(DTYPES)]
        for op in ("ones", "zeros"):
            record(op, [], {"shape": {"tensor": [shape, shape[::-1]], "dtype": "int32"} if maybe(0.4) else shape, "dtype": enum(dtype)}, batch=2)
        x = (N.randn(2, 3) * R.choice([1, 100, 1e5])).astype(R.choice(["float32", "float64", "int32", "uint8", "int64"]))
        record("cast", [[literal(x)]], {"dtype": enum(DTYPES[(k * 5) % len(DTYPES)])})
        record("full", [[literal(x[0, 0]), literal(x[1, 1])]], {"shape": [R.randint(1, 3) for _ in range(R.randint(0, 3))]})
        some = {"fdata": [f(-9, 300) for _ in range(4)]} if maybe() else {"idata": [R.randint(-9, 300) for _ in range(4)]}
        record("constant", [], {**some, "shape": R.choice([[4], [2, 2], [1, 4, 1]]), "dtype": enum(DTYPES[(k * 7) % len(DTYPES)])}, batch=2)
        key = R.choice(["layout", "layout", "source_info", "shape"])
        record("get_property", [[extent(*R.choice(["HWC", "FHWC", "CHW", "X", "HW"])) if maybe(0.8) else literal(x)]], {"key": key})
        record("reductions.mean", [[extent("H", "W", "C")]], {"axes": R.sample([0, 1, 2], R.randint(1, 3)), "keep_dims": maybe()}, exact=False, group="reduce")
        record("lookup_table", [[literal(N.randint(0, 9, (4,)).astype(R.choice(["uint8", "int32", "uint16"])))]],
               {"keys": R.sample(range(9), 4), "values": [f(0, 9) for _ in range(4)], "default_value": f(0, 9), "dtype": enum(R.choice(["FLOAT", "UINT8", "INT16"]))})


def subscripts():
    """Elements, ranges and new axes; shapes."""
    const = lambda v: ["const", v]
    for k in range(20):
        axes = "ABCD"[:R.randint(1, 4)]
        x, size = extent(*axes), len(axes)
        a, whole = ["name", "a"], ["slice", None, None, None]
        span = lambda: ["slice", R.choice([None, const(R.randint(-3, 3))]), R.choice([None, const(R.randint(-3, 4))]), R.choice([None, const(R.choice([-2, -1, 1, 2]))])]
        some = [R.choice([const(0), const(-1), const(R.randint(-2, 2)), span(), whole]) for _ in range(R.randint(1, size))]
        record("subscript", [[x]], ast=["index", a, list(some)])
        for n in range(R.randint(0, 1)):
            some.insert(R.randint(0, len(some)), ["call", "newaxis", [const("N")], {}])
        record("subscript", [[x]], ast=["index", a, some])
        record("ranges that are whole", [[x]], ast=["index", a, [whole] * R.randint(1, size + k % 2)])
        record("shape", [[x]], ast=["call", "a.shape", [], {"dtype": ["name", "types." + R.choice(["INT32", "INT64", "FLOAT", "UINT32"])]} if maybe() else {}])
        record("shapes", [[x, x]], {"dtype": enum(R.choice(["INT32", "INT64", "FLOAT", "UINT64"]))} if maybe() else {})


PICTURES = "j420_odd.jpg j420_q30.jpg j_cv422.jpg j_exif1.jpg j_exif3.jpg j_exif6.jpg j_exif8.jpg j_gray.jpg p_rgb.png p_rgba.png p_gray.png b_rgb.bmp n_ppm.ppm t_lzw.tiff w_lossless.webp".split()


def decoders():
    """Decoders and readers of files of FILES, and their further names."""
    regions = {"crop": lambda: R.choice([{"crop": [R.randint(1, 9), R.randint(1, 9)]}, {"crop_h": R.randint(1, 9), "crop_w": R.randint(1, 9), "crop_pos_x": f(0, 1)},
                                         {"crop": [f(1, 9), f(1, 9)], "crop_pos_x": f(0, 1), "crop_pos_y": f(0, 1), "rounding": R.choice(["round", "truncate"])}]),
               "slice": lambda: R.choice([{"rel_start": [f(0, 0.6), f(0, 0.6)], "rel_shape": [f(0.11, 0.3), f(0.11, 0.3)]}, {"start": [R.randint(0, 9), R.randint(0, 9)], "shape": [4, 5]},
                                          {"end": [R.randint(1, 9), R.randint(1, 9)], "axes": [1, 0]}, {"start": [R.randint(0, 9)], "shape": [3], "axis_names": R.choice("HW")}]),
               "random_crop": lambda: {"seed": R.randint(0, 10 ** 6), "random_area": [f(0.01, 0.1), f(0.1, 1)], **({"num_attempts": R.randint(1, 4)} if maybe() else {}),
                                       **({"random_aspect_ratio": [f(0.2, 1), f(1, 4)]} if maybe() else {})}}
    names = [["decoders.image_" + r, r, 20] for r in regions]
    names += [["experimental.decoders.image_" + r, r, 5] for r in regions] + [["image_decoder_" + r, r, 5] for r in regions]
    for op, region, n in [*names, ["experimental.decoders.image", None, 5], ["image_decoder", None, 5]]:
        for _ in range(n):
            files = [{"file": R.choice(PICTURES)} for _ in range(R.randint(1, 3))]
            a = {"output_type": enum(R.choice(["RGB", "RGB", "BGR"]))} if maybe() else {}
            record(op, [files], {**a, **(regions[region]() if region else {})}, **({"iters": 2} if region == "random_crop" else {}))
    for op, n in (("peek_image_shape", 20), ("experimental.peek_image_shape", 5)):
        for _ in range(n):
            a = {"dtype": enum(R.choice(["INT32", "INT64", "FLOAT", "UINT32"]))} if maybe() else {}
            record(op, [[{"file": R.choice(PICTURES)} for _ in range(2)]], {**a, **({"adjust_orientation": maybe()} if maybe() else {})})
    for k in range(20):
        paths = [{"text": R.choice([x, "./" + x, "x/../" + x if k % 9 == 8 else x])} for x in R.sample(PICTURES, R.randint(1, 3))]
        if k % 10 == 9:
            paths.append({"text": "not_there.jpg"})
        record("io.file.read", [paths], R.choice([{}, {}, {"dont_use_mmap": True}]))
    read = ["call", "fn.io.file.read", [["name", "a"]], {}]
    for x in PICTURES[:4]:
        record("io.file.read, where from", [[{"text": x}]], ast=call("get_property", [read], key="source_info"))


def resizings():
    """Operators of pictures with sizes, regions and random windows."""
    interps = ["NN", "LINEAR", "CUBIC", "TRIANGULAR", "LANCZOS3", "GAUSSIAN"]
    size = lambda: [R.randint(1, 9), R.randint(1, 9)]
    picture = lambda: literal(image(R.randint(2, 12), R.randint(2, 12), R.choice([1, 3]), R.choice(["uint8", "uint8", "float32"])), "HWC")
    for _ in range(20):
        a = {"interp_type": enum("INTERP_" + R.choice(interps)), **({"antialias": maybe()} if maybe() else {}), **({"dtype": enum("FLOAT")} if maybe(0.4) else {})}
        record("random_resized_crop", [[picture() for _ in range(1)]], {**a, "size": size(), "seed": R.randint(0, 10 ** 6), "random_area": [f(0.01, 0.3), f(0.3, 1)],
                                                                        **({"random_aspect_ratio": [f(0.3, 1), f(1, 3)]} if maybe() else {})}, exact=False, iters=2)
        to = R.choice([{"size": [9, 11]}, {"resize_x": R.randint(9, 12)}, {"resize_shorter": R.randint(8, 12)}, {"resize_longer": R.randint(20, 30)}])
        record("resize_crop_mirror", [[literal(image(R.randint(8, 12), R.randint(8, 12)), "HWC")]], {**a, **to, "crop": [R.randint(1, 7), R.randint(1, 7)], "mirror": R.randint(0, 3),
                                                                                                    "crop_pos_x": f(0, 1)}, exact=False)
        record("tensor_resize", [[literal(image(R.randint(2, 6), R.randint(2, 6), 2, R.choice(["uint8", "float32"])))]],
               {**a, **R.choice([{"sizes": [*size(), 2]}, {"sizes": size(), "axes": [0, 1]}, {"scales": [f(0.4, 2), f(0.4, 2)], "axes": [1, 0]}])}, exact=False)
        line = enum("INTERP_" + R.choice(["NN", "LINEAR"]))
        record("warp_affine", [[picture()]], {"matrix": [f(-2, 2), f(-2, 2), f(-5, 5), f(-2, 2), f(-2, 2), f(-5, 5)], "interp_type": line, "fill_value": f(0, 255), "inverse_map": maybe(),
                                              **({"size": size()} if maybe() else {})}, exact=False)
        record("rotate", [[picture()]], {"angle": f(-360, 360), "interp_type": line, "fill_value": f(0, 255), "keep_size": maybe()}, exact=False)
        shape = [R.randint(1, 900), R.randint(1, 900)]
        a = {"seed": R.randint(0, 10 ** 6), **({"random_area": [f(0.01, 0.3), f(0.3, 1)]} if maybe() else {}), **({"random_aspect_ratio": [f(0.3, 1), f(1, 3)]} if maybe() else {})}
        record("random_crop_generator", [[literal(np.array(shape, dtype=np.int64)), literal(np.array(shape[::-1], dtype=np.int64))]], a, iters=3)
        start, extent_ = size(), size()
        a = {"crop_shape": size(), "roi_start": start, "seed": R.randint(0, 10 ** 6), **R.choice([{"roi_shape": extent_}, {"roi_end": [b + e for b, e in zip(start, extent_)]}])}
        record("roi_random_crop", [], {**a, **({"in_shape": [30, 30]} if maybe() else {})}, batch=3, iters=2)
        n, ids = R.randint(1, 3), R.randint(1, 3)
        places = lambda lo, hi: {"tensor": [[[R.randint(lo, hi), R.randint(lo, hi)] for _ in range(ids)] for _ in range(n)], "dtype": "int32"}
        a = {"output_size": [R.randint(6, 9), R.randint(6, 9)], "in_ids": {"tensor": [[R.randint(0, n - 1) for _ in range(ids)] for _ in range(n)], "dtype": "int32"},
             "out_anchors": places(0, 3), "shapes": places(1, 3), **({"in_anchors": places(0, 2)} if maybe() else {}), **({"dtype": enum("FLOAT")} if maybe(0.3) else {})}
        record("multi_paste", [[literal(image(R.randint(5, 7), R.randint(5, 7)), "HWC") for _ in range(n)]], a)


def dumps():
    """Pictures that are written to files, which are recorded with the case."""
    for k in range(20):
        x = literal(image(R.randint(1, 3), R.randint(1, 3), 1 if k % 3 == 0 else 2 if k % 7 == 6 else 3), "HWC")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            record("dump_image", [[x, x]], R.choice([{}, {"suffix": "a"}, {"suffix": "b-c"}]))
            files = {}
            for name in sorted(os.listdir(folder)):
                with open(name) as file:
                    files[name] = file.read()
            CASES[-1]["files"] = files
            os.chdir(FILES)


def branches():
    """The operators that conditionals are made of, called as such."""
    scalars = lambda n: [literal(v) for v in (N.randint(0, 2, n) * R.choice([1, 1, 7])).astype(R.choice(["bool", "bool", "int32", "uint8", "float32"]))]
    for k in range(20):
        n = R.randint(1, 4)
        record("_conditional.not_", [scalars(n) if k % 7 else [literal(N.randint(0, 2, (2,)).astype("bool"))]])
        record("_conditional.validate_logical", [scalars(n) if k % 7 else [literal(N.randint(0, 2, (1,)).astype("bool"))]],
               {"expression_name": R.choice(["and", "or", "not"]), "expression_side": R.choice(["left", "right"])})
    forms = {"copy": {}, "flip": {}, "pad": {"align": [3], "axes": [0]}, "noise.salt_and_pepper": {"seed": 3, "prob": 0.5}, "random.coin_flip": {"seed": 5},
             "random.uniform": {"seed": 8, "range": [-1.0, 1.0]}}
    made = {"random.coin_flip": "int32", "random.uniform": "float32"}

    def fork(x, p, depth, dtype="uint8"):
        """The expression of a conditional and its dtype, which is none where the branches have two."""
        parts = ["call", "fn._conditional.split", [x], {"predicate": p}]
        sides = [["index", parts, [["const", side]]] for side in (0, 1)]
        same = R.choice(["random.coin_flip", "random.uniform", "pixels", "pixels", "pixels"])
        dtypes = [dtype, dtype]
        for side in (0, 1):
            op = R.choice(["copy", "flip", "pad", "noise.salt_and_pepper"]) if same == "pixels" else same
            if depth and maybe():
                sides[side], dtypes[side] = fork(sides[side], ["index", ["call", "fn._conditional.split", [["name", "c"]], {"predicate": p}], [["const", side]]], depth - 1)
            sides[side], dtypes[side] = call(op, [sides[side]], **forms[op]), dtypes[side] and made.get(op, dtypes[side])
        return ["call", "fn._conditional.merge", sides, {"predicate": p}], dtypes[0] if dtypes[0] == dtypes[1] else None

    for k in range(24):
        n = R.randint(1, 5)
        p, q = scalars(n), scalars(n)
        x = [literal(image(R.randint(1, 3), R.randint(1, 3)), "HWC") for _ in range(n)]
        dtype = None
        if k % 8 == 7:
            ast = ["call", "fn._conditional.merge", [["name", "a"], call("cast", [["name", "a"]], dtype=enum("FLOAT"))], {"predicate": ["name", "b"]}]
        else:
            ast, dtype = fork(["name", "a"], ["name", "b"], k % 2)
        record("branches" if dtype else "branches of two dtypes", [x, p, q], ast=ast)


def parts():
    """Extents that stay while the part that is resized does not, and windows of what had to be rounded."""
    for _ in range(24):
        x = literal(image(R.randint(2, 4), R.randint(2, 5), 2, "float32"))
        a = {"axes": R.sample([0, 1], R.randint(1, 2)), "interp_type": enum("INTERP_" + R.choice(["LINEAR", "CUBIC", "GAUSSIAN", "TRIANGULAR"])), "antialias": maybe()}
        n = len(a["axes"])
        a["scales"] = [R.choice([0.9, 0.95, 1.0, 1.05, 1.1, -1.0, -0.95, 2.0]) for _ in range(n)]
        if n == 2 and maybe(0.3):
            a.update(roi_start=[R.choice([0.0, -0.5, 0.5]) for _ in range(n)], roi_end=[R.choice([1.5, 5.5]) for _ in range(n)])
        record("tensor_resize", [[x]], a, exact=False)
        a = {"interp_type": enum("INTERP_GAUSSIAN"), "antialias": maybe(), "dtype": enum("FLOAT"), "crop": [R.randint(1, 5), R.randint(1, 5)], "mirror": R.randint(0, 3)}
        record("resize_crop_mirror", [[literal(image(R.randint(4, 9), R.randint(4, 9), 1), "HWC")]],
               {**a, **R.choice([{"resize_x": R.randint(9, 12)}, {"resize_shorter": R.randint(8, 12)}, {"resize_longer": R.randint(20, 30)}])}, exact=False)
    for c in range(6):
        size = [f(0.2, 5), f(1, 4)]
        for op, words in (("crop", {"crop": size}), ("crop_mirror_normalize", {"crop_h": size[0], "crop_w": size[1]}), ("resize_crop_mirror", {"size": [7, 7], "crop": size})):
            record(op, [[literal(image(6, 5), "HWC")]], {**words, **({"dtype": enum("UINT8")} if op == "crop_mirror_normalize" else {})}, exact=False)

    for h, w, pos in ((11, 8, 0.13), (8, 11, 0.5), (11, 8, 0.7)):  # the rounding of where a part begins decides where truncated filters do
        record("resize_crop_mirror", [[literal(image(h, w), "HWC")]], {"interp_type": enum("INTERP_GAUSSIAN"), "antialias": False, "dtype": enum("FLOAT"), "resize_x": 12,
                                                                       "crop": [4, 2], "mirror": 1, "crop_pos_x": pos}, exact=False)


def fewest():
    values()
    subscripts()
    decoders()
    resizings()
    dumps()
    branches()
    parts()
    windows.all_equal(sys.modules[__name__])


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    OUT, FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.chdir(FILES)
    for family in (waters, spheres, masks, normalizations, slices, large, images, boxes, colors, shapes, functions, more, rest, fewest):
        family()
    with open(os.path.join(OUT, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
