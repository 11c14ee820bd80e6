"""Families of sizes.py: colours, blurs, shapes, affine maps, reductions and decoders, with every argument."""
import numpy as np

import cases
from cases import N, R, call, enum, f, literal, maybe

ODD = {"1": "nan", "4": "inf", "6": "-inf"}


def families(sizes):
    made, picture, volume, some, pick, number, samples, times = (
        sizes.made, sizes.picture, sizes.volume, sizes.some, sizes.pick, sizes.number, sizes.samples, sizes.times)
    small, places = sizes.SMALL, sizes.PLACES
    record = lambda *a, **k: cases.record(*a, **k)

    def one(dtypes=("uint8",), channels=(1, 2, 3), layout="HWC"):
        h, w = R.choice(small)
        size = {"H": h, "W": w, "C": R.choice(channels), "F": R.randint(1, 3), "D": R.randint(1, 4)}
        return made([size[k] for k in layout], R.choice(dtypes), layout)

    def colors():
        kinds = ("uint8", "uint8", "int16", "int32", "float32")
        outs = lambda: enum(R.choice(["FLOAT", "UINT8", "INT16", "INT32"]))
        ways = {"color_twist": dict(hue=number(-180, 180), saturation=number(0, 3), brightness=number(0, 2), contrast=number(0, 2)),
                "hsv": dict(hue=number(-180, 180), saturation=number(0, 3), value=number(0, 2)),
                "hue": dict(hue=number(-400, 400)), "saturation": dict(saturation=number(-1, 3)),
                "brightness": dict(brightness=number(-1, 2), brightness_shift=number(-1, 1)),
                "contrast": dict(contrast=number(-1, 2), contrast_center=number(0, 200)),
                "brightness_contrast": dict(brightness=number(0, 2), brightness_shift=number(-1, 1), contrast=number(0, 2), contrast_center=number(0, 200))}
        for op, words in ways.items():
            for k in times(10):
                linear = op in ("brightness", "contrast", "brightness_contrast")
                h, w = R.choice(places[:8])
                layout = R.choice(["HWC", "HWC", "FHWC", "DHWC"] if linear else ["HWC", "HWC", "FHWC"])
                size = {"H": h, "W": w, "F": R.randint(1, 3), "D": 2, "C": R.choice([1, 3, 5]) if linear else 3}
                x = made([size[c] for c in layout], R.choice(kinds), layout)
                a = some(0.6, **words)
                if k % 3 == 0:
                    a["dtype"] = outs()
                if k % 5 == 4 and a:
                    name = R.choice([n for n in a if n != "dtype"] or [None])
                    if name:
                        a[name] = samples(1, words[name])
                record(op, [[x]], a, group="color")
        for op in ("color_twist", "hue", "saturation"):
            for image_type in ("RGB",):
                record(op, [[made((2, 3, 3), "uint8", "HWC")]], {"image_type": enum(image_type), **({"hue": 40.0} if op != "saturation" else {"saturation": 0.3})}, group="color")

    def blurs():
        for k in times(24):
            x = R.choice([lambda: picture(places[:9], ("uint8", "float32", "int16", "uint16")), volume, lambda: one(("uint8",), layout="CHW")])()
            n = 3 if x["layout"] == "DHWC" else 2
            a = R.choice([lambda: {"sigma": f(0.1, 4)}, lambda: {"window_size": R.choice([1, 3, 5, 7, 11])}, lambda: {"sigma": [f(0.2, 2) for _ in range(n)], "window_size": [R.choice([1, 3, 5]) for _ in range(n)]}])()
            record("gaussian_blur", [[x]], {**a, **some(0.3, dtype=lambda: enum("FLOAT"))}, group="filter")
            a = {"window_size": R.choice([3, 5, 7, [R.choice([3, 5]) for _ in range(n)]]), **some(0.4, scale=number(-2, 2), normalized_kernel=pick(True), dtype=lambda: enum("FLOAT"))}
            a.update(some(0.3, smoothing_size=pick(1, 3, 5)))
            if a.get("normalized_kernel"):
                a.pop("scale", None)
            record("laplacian", [[x]], a, group="filter")
            x = picture(places[:9], ("uint8", "float32"), frames=0)
            record("grid_mask", [[x]], {"tile": R.choice([1, 2, 7, 50]), **some(0.6, ratio=number(0, 1), angle=number(-7, 7), shift_x=number(-30, 30), shift_y=number(-30, 30))})
        for k in times(12):
            x = picture(places[:9], ("uint8", "float32"), (1, 3), frames=0)
            mask = samples(1, lambda: R.randint(0, 1), "int32")
            record("sphere", [[x]], {"mask": mask if k % 2 else 1, "interp_type": enum(R.choice(["INTERP_NN", "INTERP_LINEAR"])), "fill_value": f(0, 99)})
            record("water", [[x]], {"mask": mask if k % 2 else 1, "interp_type": enum(R.choice(["INTERP_NN", "INTERP_LINEAR"])), **some(ampl_x=number(0, 9), freq_y=number(0, 1), phase_x=number(-9, 9))})
            record("paste", [[one(("uint8",), (3,))]], {"ratio": f(1, 4), "fill_value": [R.randint(0, 255) for _ in range(3)], **some(0.6, min_canvas_size=number(1, 30), paste_x=number(0, 1), paste_y=number(0, 1))})
            c = R.choice([1, 2, 3, 4, 5])
            record("paste", [[one(("uint8",), (c,))]], {"ratio": f(1, 3), "n_channels": c, "fill_value": [R.randint(0, 255) for _ in range(c)]})
            ids = R.randint(1, 3)
            within = lambda: {"tensor": [[[f(0, 0.4), f(0, 0.4)] for _ in range(ids)]], "dtype": "float32"}
            record("multi_paste", [[made((R.randint(5, 9), R.randint(5, 9), 3), "uint8", "HWC")]],
                   {"output_size": [R.randint(12, 20), R.randint(12, 20)], "in_ids": {"tensor": [[0] * ids], "dtype": "int32"}, **some(0.7, in_anchors_rel=within, out_anchors_rel=within, shapes_rel=within)})

    def rearranged():
        kinds = ("uint8", "int16", "int32", "float32", "int64", "float64", "uint16", "int8")
        for k in times(8):
            x = one(kinds)
            n = [R.choice([1, 2, 3]) for _ in range(3)]
            record("cat", [[x], [x]], {"axis_name": R.choice("HWC")})
            record("stack", [[x], [x]], {"axis": R.randint(0, 3), "axis_name": R.choice("NF")})
            record("constant", [], {"fdata": [f(-9, 9) for _ in range(6)], "shape": R.choice([[2, 3], [6, 1], [3, 2]]), "layout": R.choice(["HW", "XY"]), "dtype": enum("FLOAT")}, batch=R.choice([1, 2]))
            for op in ("ones", "zeros"):
                record(op, [], {"shape": [R.randint(0, 5), R.randint(1, 5)], "layout": R.choice(["HW", "AB"]), **some(dtype=lambda: enum(R.choice(cases.DTYPES)))}, batch=2)
            record("full", [[literal(np.array(R.randint(0, 9), np.int32))]], {"shape": [R.randint(0, 5), 2], "layout": R.choice(["HW", "AB"])})
            record("coord_flip", [[made((R.randint(1, 5), 3), "float32")]], {"layout": R.choice(["xyz", "zyx", "xzy"]), **some(0.6, center_x=number(-1, 2), center_y=number(-1, 2), center_z=number(-1, 2), flip_x=pick(0, 1), flip_y=pick(0, 1), flip_z=pick(0, 1))})
            record("coord_flip", [[made((R.randint(1, 5), 2), "float32")]], {"layout": "yx", "flip_y": 1, "flip_x": 0, "center_y": f(0, 3)})
            d = R.choice([2, 3])
            record("coord_transform", [[made((R.choice([1, 4, 300]), d), R.choice(["float32", "int16", "uint8", "int32"]))]],
                   {**R.choice([{"MT": [f(-2, 2) for _ in range(2 * (d + 1))]}, {"M": [f(-2, 2) for _ in range(2 * d)], **some(T=lambda: [f(-5, 5), f(-5, 5)])}, {"M": f(-2, 2), "T": f(-9, 9)}]), **some(dtype=lambda: enum("FLOAT"))}, group="geom")
            record("expand_dims", [[made((3, 4), R.choice(kinds), "HW")]], {"axes": R.choice([[0], [1], [2]]), "new_axis_names": "N"})
            record("expand_dims", [[made((3, 4), R.choice(kinds), "HW")]], {"axes": [0, 3], "new_axis_names": R.choice(["NC", "FD"])})
            record("squeeze", [[made((1, n[0], 1), R.choice(kinds), "HWC")]], {"axis_names": R.choice(["H", "C", "HC"])})
            record("flip", [[volume()]], {"depthwise": 1, **some(horizontal=pick(0, 1), vertical=pick(0, 1))})
            record("flip", [[one(kinds, layout="FHWC")]], {"vertical": samples(1, pick(0, 1), "int32"), "horizontal": samples(1, pick(0, 1), "int32")})
            x = x if x["dtype"] != "float64" else one(("float32",))
            record("pad", [[x]], {"axis_names": R.choice(["HW", "W", "CH"]), **R.choice([{"align": [R.randint(1, 8)]}, {"shape": [R.randint(9, 12)]}, {}]), **some(fill_value=number(-9, 300))})
            record("pad", [[made((2, 3), R.choice(kinds[:5]))]], {"axes": [0, 1], "shape": [R.randint(2, 9), R.randint(3, 9)], "fill_value": f(0, 9)})
            record("one_hot", [[literal(N.randint(-2, 9, (R.choice([1, 3]),)).astype(R.choice(["int32", "uint8", "float32"])), "X")]],
                   {"num_classes": R.randint(1, 9), **some(0.6, axis=pick(0, 1, -1), axis_name=pick("A", "Z"), on_value=number(-3, 300), off_value=number(-3, 300), dtype=lambda: enum(R.choice(cases.DTYPES)))})
            record("lookup_table", [[literal(N.randint(0, 99, R.choice([(1,), (3, 7)])).astype("uint8"))]], {"keys": R.sample(range(99), 30), "values": [f(0, 99) for _ in range(30)], "output_dtype": enum(R.choice(["INT16", "UINT8"])), "default_value": f(0, 99)})
            record("transpose", [[x]], {"perm": R.sample([0, 1, 2], 3), **R.choice([{"output_layout": "ABC"}, {"transpose_layout": False}])})
            y = made((4, 6, 2), R.choice(kinds), "HWC")
            record("reshape", [[y]], R.choice([{"shape": [8, 6], "layout": "XY"}, {"rel_shape": R.choice([[0.5, 2.0], [2.0, -1.0], [1.0, 0.5, 2.0]])}, {"src_dims": R.choice([[2, 0, 1], [1, 0, 2], [0, 1, -1, 2]])}, {"rel_shape": [1.0, 1.0, 2.0, 0.5], "src_dims": [1, 0, 2, 2], "layout": "ABCD"}]))
            record("reshape", [[made((4, 6, 2), R.choice(kinds))], [literal(np.array(R.choice([[48], [2, 24], [-1, 3]]), np.int32))]], {})
            record("reinterpret", [[made((4, 6, 2), "int32", "HWC")]], R.choice([{"dtype": enum("INT16"), "layout": "ABC"}, {"dtype": enum("UINT8"), "shape": R.choice([[192], [4, -1], [8, 24]])}, {"dtype": enum("FLOAT"), "rel_shape": R.choice([[0.5, 2.0], [2.0, -1.0]])}, {"src_dims": R.choice([[2, 0, 1], [1, 0, 2]])}]))
            record("shape", [[x]], ast=["call", "a.shape", [], {"dtype": ["name", "types." + R.choice(["FLOAT", "INT32", "UINT64"])]}])
            record("subscripts", [[x]], ast=["index", ["name", "a"], [["const", R.randint(-1, 0)], ["slice", None, ["const", R.randint(1, 3)], None]]])

    def windows():
        kinds = ("uint8", "int16", "float32", "int32", "uint16")
        outside = lambda: {"out_of_bounds_policy": R.choice(["pad", "trim_to_shape", "pad"])}
        for k in times(14):
            x = one(kinds)
            record("erase", [[x]], {"anchor": [f(-3, 3), f(-3, 3)], "shape": [f(0, 4), f(0, 4)], **some(0.6, centered_anchor=pick(True), fill_value=lambda: R.choice([f(-9, 300), [f(0, 99) for _ in range(x["made"]["shape"][2])]])), **R.choice([{"axes": [1, 0]}, {"axis_names": "WH"}, {"axis_names": "HW"}, {"axes": [0, 1]}, {}])})
            record("erase", [[x]], {"anchor": [f(-0.2, 0.9), f(-0.2, 0.9)], "shape": [f(0, 0.9), f(0, 0.9)], **R.choice([{"normalized": True}, {"normalized_anchor": True, "normalized_shape": True}, {"normalized_anchor": True}, {"normalized_shape": True}]), **some(centered_anchor=pick(True)), "axis_names": R.choice(["HW", "WH"])})
            kind = enum(R.choice(["FLOAT", "INT16", "UINT8", "INT32"]))
            record("crop", [[x]], {"crop": [R.randint(1, 9), R.randint(1, 9)], **outside(), **some(0.5, fill_values=lambda: [f(-9, 300)], crop_pos_x=number(0, 1), crop_pos_y=number(0, 1), rounding=pick("truncate")), **R.choice([{"output_dtype": kind}, {"dtype": kind}, {}])})
            record("crop_mirror_normalize", [[volume()]], {"crop_d": R.randint(1, 9) + 0.0, "crop_h": R.randint(1, 9) + 0.0, "crop_w": R.randint(1, 9) + 0.0, "output_layout": R.choice(["CDHW", "DHWC"]), **outside(), **some(0.5, crop_pos_z=number(0, 1), mirror=pick(0, 1), mean=number(0, 99), std=number(1, 9), fill_values=lambda: [f(0, 99)])})
            record("crop_mirror_normalize", [[x]], {"output_dtype" if k % 2 else "dtype": enum(R.choice(["FLOAT", "INT8", "UINT8"])), **some(0.5, crop=lambda: [R.randint(1, 9), R.randint(1, 9)], mean=number(0, 99), std=number(1, 9), scale=number(-2, 2), shift=number(-9, 9), pad_output=pick(True), rounding=pick("truncate"), mirror=pick(1)), **outside()})
            whole = lambda lo, hi: {"value": [R.randint(lo, hi), R.randint(lo, hi)], "dtype": "float32"}
            part = lambda lo, hi: {"value": [f(lo, hi), f(lo, hi)], "dtype": "float32"}
            rel = R.choice([(False, False), (True, False), (False, True), (True, True)])
            record("slice", [[x], [part(-0.3, 0.5) if rel[0] else whole(-2, 3)], [part(0.1, 0.9) if rel[1] else whole(1, 6)]], {"normalized_anchor": rel[0], "normalized_shape": rel[1], **outside(), **some(fill_values=lambda: [f(-9, 300)], axis_names=pick("HW", "WH"))})
            record("slice", [[x]], {"axes": [0, 1], "out_of_bounds_policy": "pad", **R.choice([{"start": [R.randint(-3, 3), R.randint(-3, 3)], "end": [R.randint(3, 9), R.randint(3, 9)]}, {"rel_start": [f(-0.5, 0.5), f(-0.5, 0.5)], "rel_end": [f(0.5, 1.5), f(0.5, 1.5)]}, {"start": [R.randint(-3, 3), R.randint(-3, 3)], "shape": [R.randint(0, 9), R.randint(0, 9)]}]), **R.choice([{"output_dtype": kind}, {"dtype": kind}, {}])})

    def statistics():
        for k in times(8):
            shape = R.choice([(1, 1, 1), (3, 7, 2), (17, 5, 3), (1, 40, 2), (4, 4, 5)])
            for op in ("max", "min", "mean", "mean_square", "rms", "sum", "std_dev", "variance"):
                exact = op in ("max", "min")
                x = made(shape, R.choice(["uint8", "int16", "int32", "float32", "uint16"]), "HWC", **({"odd": ODD} if exact and np.prod(shape) > 6 and maybe() else {}))
                if "odd" in x["made"]:
                    x["dtype"], x["made"]["over"] = "float32", 8
                kinds = {"mean": ["FLOAT"], "mean_square": ["FLOAT"], "rms": ["FLOAT"], "sum": ["FLOAT"]}.get(op)
                if x["dtype"] in ("uint8", "uint16") and op == "sum":
                    kinds = ["UINT32", "UINT64", "FLOAT"]
                a = {**R.choice([{"axes": R.sample([0, 1, 2], R.randint(1, 2))}, {"axis_names": R.choice(["HW", "C", "WC", "H"])}]), "keep_dims": maybe()}
                if kinds and maybe(0.5):
                    a["dtype"] = enum(R.choice(kinds))
                if op in ("std_dev", "variance"):
                    mean = [call("reductions.mean", [["name", "a"]], **{n: v for n, v in a.items() if n != "keep_dims"}, keep_dims=True)]
                    words = {**a, "ddof": R.choice([0, 1, 2])}
                    record("reductions of the mean", [[x]], ast=call("reductions." + op, [["name", "a"], mean[0]], **words), exact=False, group="reduce")
                else:
                    record("reductions." + op, [[x]], a, exact=False, group="reduce")
            n = R.choice([1, 3])
            xs = [made(R.choice([(3, 7, 2), (5, 4, 2), (1, 9, 2)]), R.choice(["uint8"]), "HWC") for _ in range(n)]
            a = {**R.choice([{"axes": [0, 1]}, {"axis_names": "HW"}, {"axes": [0, 1, 2]}]), "epsilon": f(0.1, 3), **some(0.5, shift=number(-9, 99), scale=number(1, 40), dtype=lambda: enum(R.choice(["FLOAT", "UINT8", "INT16"])), batch=pick(True))}
            record("normalize", [xs], a, exact=False)
            record("normalize", [xs], {"mean": f(0, 99), **some(0.6, stddev=number(1, 40), epsilon=number(0, 2), shift=number(-9, 99), scale=number(1, 40), batch=pick(True)), **({})}, exact=False)

    def maps():
        for k in times(10):
            d = R.choice([2, 3])
            v = lambda lo=-3, hi=3: [f(lo, hi) for _ in range(d)]
            m = [literal((N.randn(d, d + 1) * 2).astype(np.float32))]
            before = [[m[0]]] if maybe(0.7) else []
            rev = some(0.6 if before else 0, reverse_order=pick(True))
            more = {} if before else {"batch": 2}
            record("transforms.translation", before, {"offset": v(), **rev}, exact=False, group="geom", **more)
            record("transforms.scale", before, {"scale": v(), **some(center=v), **rev}, exact=False, group="geom", **more)
            record("transforms.scale", before, {"scale": f(-2, 2), "ndim": d, **rev}, exact=False, group="geom", **more)
            angle = {"angle": f(-400, 400), **({"axis": [f(-1, 1), f(-1, 1), f(0.1, 1)]} if d == 3 else {})}
            record("transforms.rotation", before, {**angle, **some(center=v), **rev}, exact=False, group="geom", **more)
            shear = {"shear": [f(-2, 2) for _ in range(2 if d == 2 else 6)]} if maybe() else {"angles": [f(-80, 80) for _ in range(2 if d == 2 else 6)]}
            record("transforms.shear", before, {**shear, **some(center=v), **rev}, exact=False, group="geom", **more)
            record("transforms.crop", before, {"from_start": v(0, 2), "from_end": v(3, 5), "to_start": v(4, 5), "to_end": v(-2, 2), **some(absolute=pick(True)), **rev}, exact=False, group="geom", **more)

    def files():
        jpegs = [x for x in cases.PICTURES if x.endswith(".jpg")]
        turned = ["j_exif%d.jpg" % k for k in range(2, 9)]
        regions = {"image": lambda: {}, "image_crop": lambda: {"crop": [R.randint(1, 9), R.randint(1, 9)]}, "image_slice": lambda: {"start": [R.randint(0, 5), R.randint(0, 5)], "shape": [R.randint(2, 9), R.randint(2, 9)]},
                   "image_random_crop": lambda: {"seed": R.randint(0, 10 ** 6), "random_area": [0.5, 1.0], "random_aspect_ratio": [0.1, 9.0], "num_attempts": R.choice([1, 2])}}
        old = {"image": "image_decoder", "image_crop": "image_decoder_crop", "image_slice": "image_decoder_slice", "image_random_crop": "image_decoder_random_crop"}
        for op, region in regions.items():
            for name in ("decoders." + op, "experimental.decoders." + op, old[op]):
                for _ in times(2):
                    record(name, [[{"file": R.choice(turned)}]], {**region(), "adjust_orientation": False})
                    record(name, [[{"file": R.choice(cases.PICTURES)}]], {**region(), "dtype": enum(R.choice(["FLOAT", "UINT16", "INT16"])), "output_type": enum(R.choice(["RGB", "BGR"]))})
                    record(name, [[{"file": R.choice(jpegs)}]], {**region(), "use_fast_idct": True})
                for _ in times(2 if op == "image_slice" else 0):
                    x = {"file": R.choice(cases.PICTURES)}
                    part = {"value": [f(0, 0.3), f(0, 0.3)], "dtype": "float32"}
                    size = {"value": [f(0.2, 0.6), f(0.2, 0.6)], "dtype": "float32"}
                    whole = {"value": [R.randint(0, 5), R.randint(0, 5)], "dtype": "float32"}
                    pixels = {"value": [R.randint(1, 9), R.randint(1, 9)], "dtype": "float32"}
                    record(name, [[x], [whole], [size]], {"normalized_anchor": False, "axes": [0, 1]})
                    record(name, [[x], [part], [pixels]], {"normalized_shape": False, "axis_names": "HW"})
                    record(name, [[x]], {"rel_start": [0.1, f(0, 0.4)], "rel_end": [f(0.5, 1), f(0.5, 1)], "axes": [0, 1], "output_type": enum("GRAY")})
                    record(name, [[x]], {"rel_start": [0.1, f(0, 0.4)], "rel_shape": [f(0.2, 0.5), f(0.2, 0.5)], "axis_names": "HW", "output_type": enum("BGR")})
                if op == "image_crop":
                    record(name, [[{"file": R.choice(jpegs)}]], {"crop_w": 5.0, "crop_h": 4.0, "crop_pos_x": 0.2, "crop_pos_y": 0.9})
        for name in ("peek_image_shape", "experimental.peek_image_shape"):
            for k in times(4):
                record(name, [[{"file": R.choice(turned[3:])}]], {"adjust_orientation": False})
                record(name, [[{"file": R.choice(cases.PICTURES)}]], {"image_type": enum(["GRAY", "ANY_DATA", "RGB", "YCbCr"][k % 4])})

    def arguments():
        """Arguments that the other families leave at values with which they change nothing."""
        for k in times(4):
            x = made((4 + k % 3, 5, 2), "uint8", "HWC")
            record("erase", [[x]], {"anchor": [0.0, R.randint(1, 3) + 0.0], "shape": [1.0, 3.0], "axes": [1, 0]})
            record("coord_flip", [[made((3, 3), "float32")]], {"layout": "xyz", "flip_z": 1, "center_z": f(1, 9)})
            for d in ("uint8", "int16", "int32"):
                record("coord_transform", [[made((5, 2), d)]], {"M": [f(-2, 2) for _ in range(4)], "dtype": enum(d.upper())}, group="geom")
            d = R.choice(["uint8", "int16", "int32"])
            for op, kind in (("mean", d.upper()), ("rms", d.upper()), ("mean_square", "UINT64" if d == "uint8" else "INT64")):
                record("reductions." + op, [[made((3, R.randint(2, 7)), d)]], {"axes": [0], "dtype": enum(kind)}, group="reduce")
            y = made((4, 6, 2), R.choice(["int32", "float32", "uint16"]))
            record("reshape", [[y]], {"src_dims": R.choice([[2, 0, 1], [1, 0, 2], [0, 1, -1, 2]])})
            record("reshape", [[y]], {"src_dims": [1, 0, 2], "rel_shape": [R.choice([0.5, 1.0]), -1.0, 1.0]})
            record("reinterpret", [[y]], {"src_dims": R.choice([[2, 0, 1], [1, 0, 2], [0, 1, -1, 2]])})
            record("shapes", [[made((2, 3), "uint8")]], {"type": enum(R.choice(["FLOAT", "INT32", "UINT64"]))})
            interp = lambda: enum("INTERP_" + R.choice(sizes.INTERPS[2:]))
            record("random_resized_crop", [[made((30, 40, 3), "uint8", "HWC")]], {"size": [3, 4], "min_filter": interp(), "seed": k, "num_attempts": 5})
            record("random_resized_crop", [[made((5, 4, 3), "uint8", "HWC")]], {"size": [9, 9], "mag_filter": interp(), "seed": k})
            wide = made((9, 60, 3), "uint8", "HWC")
            record("resize_crop_mirror", [[wide]], {"resize_shorter": 12, "max_size": R.randint(20, 50), "crop": [2, 3], "interp_type": interp()})
            record("tensor_resize", [[wide]], {"sizes": [12.0, 20.0], "axes": [0, 1], "mode": "not_smaller", "max_size": R.choice([30, [9, 30]]), "interp_type": interp()})
            record("resize", [[wide]], {"size": [12.0, 20.0], "mode": "not_smaller", "max_size": R.choice([30, [9, 30]]), "interp_type": interp()})
            n = R.randint(1, 4)
            flags = lambda: [literal(np.array(v)) for v in N.randint(0, 2, n) == 1]
            parts = ["call", "fn._conditional.split", [["name", "a"]], {"predicate": ["name", "b"]}]
            sides = [call("cast", [["index", parts, [["const", i]]]], dtype=enum("FLOAT")) for i in (0, 1)]
            record("branches", [[made((R.randint(1, 3), 2), "uint8") for _ in range(n)], flags()], ast=["call", "fn._conditional.merge", sides, {"predicate": ["name", "b"]}])

    def many():
        """Batches of 257 samples."""
        shapes = [(1 + k % 3, 2) for k in range(257)]
        record("cast", [[made(x, "uint8") for x in shapes]], {"dtype": enum("INT16")})
        record("batches of pictures", [[made((3, 2, 1), "uint8", "HWC")] * 257], ast=call("resize", [["name", "a"]], size=[1, 1], interp_type=enum("INTERP_TRIANGULAR")))

    def odd():
        """NaN and infinities."""
        x = lambda layout="HWC", shape=(3, 5, 2): made(shape, "float32", layout, odd=ODD)
        for op, a in (("cast", {"dtype": enum("INT32")}), ("cast", {"dtype": enum("UINT8")}), ("cast", {"dtype": enum("INT64")}), ("cast", {"dtype": enum("BOOL")}), ("crop", {"crop": [2, 2]}),
                      ("crop", {"crop": [9, 2], "out_of_bounds_policy": "pad", "fill_values": [1.5], "dtype": enum("UINT8")}), ("flip", {}), ("transpose", {"perm": [2, 0, 1]}), ("pad", {"align": [4], "axes": [0]}),
                      ("slice", {"start": [0], "shape": [1], "axes": [0], "dtype": enum("UINT8")}), ("erase", {"anchor": [0.0, 0.0], "shape": [1.0, 1.0]}), ("resize", {"size": [2, 3]}), ("resize", {"size": [5, 4], "interp_type": enum("INTERP_NN")}),
                      ("warp_affine", {"matrix": [0.7, 0.2, 0.0, 0.1, 1.2, 0.0], "fill_value": 3.0}), ("warp_affine", {"matrix": [0.7, 0.2, 0.0, 0.1, 1.2, 0.0], "interp_type": enum("INTERP_NN"), "dtype": enum("UINT8")}),
                      ("rotate", {"angle": 30.0}), ("brightness_contrast", {"brightness": 0.5, "contrast": 2.0}), ("brightness", {"brightness": 2.0, "dtype": enum("UINT8")}), ("gaussian_blur", {"window_size": 3}),
                      ("crop_mirror_normalize", {"mean": 3.0, "std": 2.0}), ("crop_mirror_normalize", {"mean": 3.0, "std": 2.0, "dtype": enum("INT8")}), ("laplacian", {"window_size": 3}), ("reductions.max", {}), ("reductions.min", {})):
            record(op, [[x()]], a, exact=False)
        record("coord_transform", [[x(None, (4, 2))]], {"M": [1.0, 2.0, 0.5, 1.5]}, exact=False)
        record("coord_flip", [[x(None, (4, 2))]], {"flip_x": 1, "flip_y": 1}, exact=False)
        record("warp_affine", [[made((3, 3, 1), "uint8", "HWC")]], {"matrix": {"tensor": [[["nan", 0.0, 1.0], [0.0, 1.0, 0.0]]], "dtype": "float32"}, "interp_type": enum("INTERP_NN")})
        record("rotate", [[made((3, 3, 1), "uint8", "HWC")]], {"angle": {"tensor": [1e10], "dtype": "float32"}, "keep_size": True, "interp_type": enum("INTERP_NN")})

    def functions():
        """Functions of float32 that are glibc's to the bit: of all sizes, subnormal, NaN and infinite."""
        ODDS = {"0": "nan", "1": "inf", "2": "-inf", "3": "0", "4": "1e-40", "5": "3e38", "6": "-1e-40"}
        a = lambda over: {"made": {"shape": [150], "mul": 7919, "mod": 19997, "add": -9998, "over": over, "odd": ODDS}, "dtype": "float32"}
        for name in ("exp", "log", "log2", "sin", "cos"):
            for over in (50, 700, 100003):
                record("math." + name, [[a(over)]], ast=["call", "math." + name, [["name", "a"]], {}], exact=False, group="arith")
        for name in ("pow", "fpow"):
            for over in (9000, 313):
                x = {"made": {"shape": [150], "mul": 89, "mod": 4999, "add": 1, "over": over, "odd": {"1": "inf", "3": "1e-40"}}, "dtype": "float32"}
                record("math." + name, [[x], [a(5003)]], ast=["call", "math." + name, [["name", "a"], ["name", "b"]], {}], exact=False, group="arith")

    def to_the_bit():
        """Cases of which only a hash is kept, so that the last bit of each number counts: what differed once."""
        keep, cases.INLINE = cases.INLINE, 0
        m = lambda shape, mul, dtype="uint8", layout="HWC", **k: {**made(shape, dtype, layout, **k), "made": {**made(shape, dtype, layout, **k)["made"], "mul": mul}}
        to_float = {"dtype": enum("FLOAT")}
        for mode, size, most, start, end in (("not_smaller", [20.0, 5.5], 9, [2.362, 0.167508], [6.448, 5.83]), ("not_smaller", [20.0, 5.5], 9, [0.556533, 2.869], [7.019, 8.551]), ("not_smaller", [20.0, 5.5], 14, [-0.6, -1.85], [7.04, 7.065])):
            record("tensor_resize", [[m((5, 6, 2), 89)]], {"axes": [1, 0], "sizes": size, "mode": mode, "max_size": most, "roi_start": start, "roi_end": end, "interp_type": enum("INTERP_LINEAR")})
        for shape, mul, interp, start, end, size in (((39, 56, 1), 7, "CUBIC", [23, 17], [29, 27], [13, 1]), ((30, 24, 1), 7, "LANCZOS3", [23, 6], [25, 16], [21, 2]), ((13, 48, 1), 89, "CUBIC", [8, 30], [11, 33], [13, 3]), ((34, 34, 1), 163, "LANCZOS3", [21, 22], [25, 29], [18, 2])):
            record("resize", [[m(shape, mul, "float32")]], {"interp_type": enum("INTERP_" + interp), "roi_start": start, "roi_end": end, "size": size})
        for k in times(10):
            d, h, w = R.choice([1, 1, R.randint(2, 6)]), R.randint(2, 9), R.randint(2, 9)
            record("resize", [[m((d, h, w, 1), 7, layout="DHWC")]], {"interp_type": enum("INTERP_" + R.choice(["LANCZOS3", "GAUSSIAN"])), **to_float, "resize_z": d, "resize_y": h, "resize_x": w, "roi_start": [0.25, 0.375, 0.125], "roi_end": [d + 0.25, h + 0.375, w + 0.125]})
        record("resize", [[m((3, 4, 4, 3), 163, layout="DHWC")]], {"interp_type": enum("INTERP_GAUSSIAN"), **to_float, "resize_z": 3, "resize_y": 4, "resize_x": 4})
        for align in (0.0, 1.0, [0.0, 1.0]):
            record("tensor_resize", [[m((7, 3, 5), 163)]], {"axes": [0, 1], "sizes": [4.3, 10.2], "mode": "not_smaller", "alignment": align, "roi_start": [0.7, 1.475522], "roi_end": [5.002, 6.7], **to_float})
        for k in times(6):
            v = lambda n: [f(-3, 3) for _ in range(n)]
            d = R.choice([2, 3])
            record("transforms.scale", [[literal((N.randn(d, d + 1) * 2).astype(np.float32))]] if k % 2 else [], {"scale": v(d), "center": v(d)}, **({} if k % 2 else {"batch": 1}))
            record("transforms.crop", [], {"from_start": v(d), "from_end": [x + 4 for x in v(d)], "to_start": v(d), "to_end": v(d), "absolute": True}, batch=1)
            record("transforms.rotation", [], {"angle": f(-400, 400), "center": v(2)}, batch=1)
            record("transforms.combine", [[literal(N.randn(d, d + 1).astype(np.float32))], [literal(N.randn(d, d + 1).astype(np.float32))]], {})
            record("coord_transform", [[m((60, d), 89, R.choice(["float32", "int16"]), None)]], R.choice([{"M": v(2 * d), "T": v(2)}, {"MT": v(2 * d + 2)}]))
        for size in (7, 15, 25, 31, 41):
            record("gaussian_blur", [[m((40, 50, 1), 89, "float32")]], {"window_size": size})
        for op, words in (("color_twist", ("hue", "saturation", "brightness", "contrast")), ("hsv", ("hue", "saturation", "value")), ("hue", ("hue",)), ("saturation", ("saturation",))):
            for k in times(4):
                a = {n: f(-400, 400) if n == "hue" else f(0, 3) for n in words if maybe(0.8)}
                record(op, [[m((30, 40, 3), 89, R.choice(["uint8", "float32", "int16"]))]], {**a, **to_float})
        for name in ("exp", "log", "log2", "sin", "cos", "sqrt"):
            for over in (113, 1003, 70001):
                x = {"made": {"shape": [9000], "mul": 7919, "mod": 19997, "add": 1 if name in ("log", "log2", "sqrt") else -9998, "over": over}, "dtype": "float32"}
                record("math." + name, [[x]], ast=["call", "math." + name, [["name", "a"]], {}])
        for over in (9000, 313):
            x, y = ({"made": {"shape": [9000], "mul": mul, "mod": mod, "add": add, "over": over}, "dtype": "float32"} for mul, mod, add in ((89, 4999, 1), (7919, 19997, -9998)))
            record("math.pow", [[x], [{**y, "made": {**y["made"], "over": 5003}}]], ast=["call", "math.pow", [["name", "a"], ["name", "b"]], {}])
        cases.INLINE = keep

    return [arguments, functions, to_the_bit, many, odd, colors, blurs, rearranged, windows, statistics, maps, files]
