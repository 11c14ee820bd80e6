#!/usr/bin/env python3
"""Records cases of single operators from live DALI: cases.py OUT (testdata/dali/ops/recorded).

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

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from PIL import Image

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
    if kind == "list":
        return [node(x, inputs) for x in ast[1]]
    g = dali
    for part in ast[1].split("."):
        g = getattr(g, part)
    return g(*[node(x, inputs) for x in ast[2]], **{k: node(v, inputs) for k, v in ast[3].items()})


def constant(v):
    return lambda: v


def argument(v):
    if isinstance(v, dict) and "type" in v:
        return getattr(types, v["type"])
    if isinstance(v, dict):
        data = [np.array(x, dtype=v["dtype"]) for x in v["tensor"]]
        return fn.external_source(source=lambda: data, batch=True)
    return v


def run(c):
    values = [[np.array(s["value"], dtype=s["dtype"]) for s in col] for col in c["inputs"]]
    with dali.Pipeline(batch_size=len(values[0]), num_threads=1, device_id=None, seed=1, prefetch_queue_depth=1,
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
    return p.run()


def record(op, inputs, args=None, ast=None, exact=True, group="recorded"):
    # group is what the rules of tolerances.json go by.
    c = {"name": "%s_%03d" % (op.replace(".", "_").replace(" ", "_"), len(CASES)), "group": group, "inputs": inputs}
    if ast:
        c.update(expr=op, ast=ast)
    else:
        c.update(op=op, args=args or {})
    try:
        outs = run(c)
        c["outputs"] = []
        for k, t in enumerate(outs):
            for i in range(len(t)):
                a = np.array(t.at(i))
                o = {"iter": 0, "output": k, "sample": i, "dtype": str(t.dtype).replace("DALIDataType.", ""), "shape": list(a.shape), "layout": t.layout()}
                if a.dtype == np.float32 and (a.size <= INLINE or not exact):
                    o["f32"] = ["%08x" % v for v in np.ascontiguousarray(a).view(np.uint32).ravel()]
                elif a.size <= INLINE or not exact:
                    o["data"] = a.ravel().tolist()
                o["sha256"] = hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
                c["outputs"].append(o)
    except Exception as e:
        c["error"] = {"type": type(e).__name__, "message": str(e)[:300].split("\n")[0]}
        text = str(e)
        if "ncountered:" in text:
            c["error"]["message"] = text[text.find("ncountered:") + 11:].strip()[:200]
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
        a["aspect_ratio"] = [0.5, 2.0]  # a ratio that is fixed makes DALI shuffle axes by chance
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


if __name__ == "__main__":
    for family in (waters, spheres, masks, normalizations, slices, large, images, boxes, colors, shapes, functions, more, rest):
        family()
    os.makedirs(sys.argv[1], exist_ok=True)
    with open(os.path.join(sys.argv[1], "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
