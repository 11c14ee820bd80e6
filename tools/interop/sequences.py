#!/usr/bin/env python3
"""Records what operators do with sequences from live DALI: sequences.py OUT FILES (testdata/dali/ops/sequences, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md: every argument that can have a value for each frame,
inputs with such values, what is refused, and every operator on images with every layout of sequences. Two runs give the same bytes.
"""
import json
import os
import sys
import warnings

import numpy as np

import cases
from cases import CASES, enum, literal, record

N = np.random.RandomState(17)
COLOR, FILTER, GEOM = "color", "filter", "geom"
EXTENT = {"F": 2, "D": 1, "H": 2, "W": 2, "C": 3}
LAYOUTS = "FHW FHWC FCHW CFHW FDHWC".split()


def video(frames, h=2, w=3, c=3, dtype="uint8"):
    shape = (frames, h, w, c) if c else (frames, h, w)
    return N.randint(0, 256, shape).astype(dtype)


def videos(layout="FHWC", **more):
    """Two sequences of three and two frames."""
    return [literal(video(n, **more), layout) for n in (3, 2)]


def values(*samples, dtype="float32", layout=None):
    return [literal(np.array(s, dtype), layout) for s in samples]


def marked(name):
    return ["call", "fn.per_frame", [["name", name]], {}]


def constant(v):
    if isinstance(v, dict):
        return ["name", "types." + v["type"]]
    return ["list", [constant(x) for x in v]] if isinstance(v, list) else ["const", v]


def call(op, inputs, given, constants=None):
    """The text and the tree of a call. given are arguments by the letter of their input, in capitals if they are marked."""
    keywords = {k: constant(v) for k, v in (constants or {}).items()}
    tree = lambda v: v if isinstance(v, list) else marked(v.lower()) if v.isupper() else ["name", v]  # noqa: E731
    text = ", ".join([str(x) for x in inputs] + ["%s=%s" % (k, v) for k, v in given.items()] + sorted(keywords))
    return "fn.%s(%s)" % (op, text), ["call", "fn." + op, [tree(x) for x in inputs], {**{k: tree(v) for k, v in given.items()}, **keywords}]


def crashes(text, columns, tree, group):
    """Whether DALI ends the process, as some matrices without a mark do. Such a case has no result."""
    child = os.fork()
    if child == 0:
        record(text, columns, ast=tree, exact=False, group=group)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def lean(c):
    """Leaves out what no comparison reads."""
    c.get("error", {}).pop("message", None)
    for o in c.get("outputs", ()):
        o.pop("sha256")


def case(op, inputs, columns, given, constants=None, group="geom"):
    text, tree = call(op, inputs, given, constants)
    if crashes(text, columns, tree, group):
        return
    record(text, columns, ast=tree, exact=False, group=group)
    CASES[-1]["name"] = "%s_%03d" % (op.replace(".", "_"), len(CASES) - 1)
    lean(CASES[-1])


def per_frame(op, arg, three, two, group, constants=None, dtype="float32", rest=True, **more):
    """A value for each frame; with rest: one for all frames, too few, a value without a mark, a picture in place of a sequence."""
    if group != COLOR and "c" not in more:
        more["c"] = 1
    v, few = videos(**more), videos(**{"h": 1, "w": 1, **more})
    case(op, ["a"], [v, values(three, two, dtype=dtype)], {arg: "B"}, constants, group)
    if not rest:
        return
    case(op, ["a"], [v, values(three[:1], two[:1], dtype=dtype)], {arg: "B"}, constants, group)
    case(op, ["a"], [few, values(three[:2], two, dtype=dtype)], {arg: "B"}, constants, group)
    case(op, ["a"], [few, values(three, two, dtype=dtype)], {arg: "b"}, constants, group)
    first = [literal(np.array(x["value"], x["dtype"])[0], x["layout"][1:]) for x in few]
    if arg != "blue_position":  # which DALI takes here alone
        case(op, ["a"], [first, values(three[:1], two[:1], dtype=dtype)], {arg: "B"}, constants, group)
    case(op, ["a"], [first, values(three, three, dtype=dtype)], {arg: "B"}, constants, group)


def colors():
    for op, args in {"brightness": ["brightness", "brightness_shift"], "contrast": ["contrast", "contrast_center"], "hsv": ["hue", "saturation", "value"],
                     "brightness_contrast": ["brightness", "brightness_shift", "contrast", "contrast_center"], "hue": ["hue"],
                     "saturation": ["saturation"], "color_twist": ["brightness", "contrast", "hue", "saturation"]}.items():
        for arg in args:
            scale = 90 if arg == "hue" else 1
            more = {"contrast": 0.5} if arg == "contrast_center" else {"dtype": enum("FLOAT")} if op in ("hsv", "hue", "saturation", "color_twist") else None
            per_frame(op, arg, [0.5 * scale, 1.25 * scale, 0], [0.75 * scale, 1.5 * scale], COLOR, more, rest=arg == args[0], h=1, w=2)
    case("brightness_contrast", ["a"], [videos(), values([0.5, 1, 2], [1, 0.5]), values(0.5, 0.25)], {"brightness": "B", "contrast": "c"}, group=COLOR)
    case("hsv", ["a"], [videos(), values([10, 50, 90], [30, 40]), values([1, 0.5, 0.25], [0.5])], {"hue": "B", "saturation": "C"}, {"dtype": enum("FLOAT")}, group=COLOR)


def filters():
    per_frame("gaussian_blur", "sigma", [1, 0.5, 2], [1.5, 0.75], FILTER)
    per_frame("gaussian_blur", "sigma", [[1, 0.5], [2, 1], [0.5, 2]], [[1, 1.5], [1, 2]], FILTER)
    per_frame("gaussian_blur", "window_size", [3, 5, 7], [5, 3], FILTER, dtype="int32")
    for layout in ("FHW", "FCHW", "CFHW", "FDHWC", "FCDHW"):
        shape = [EXTENT[x] for x in layout]
        v = [literal(N.randint(0, 256, shape).astype("uint8"), layout) for _ in range(2)]
        case("gaussian_blur", ["a"], [v, values([0.5, 1], [2, 1])], {"sigma": "B"}, group=FILTER)
        case("laplacian", ["a"], [v, values([0.5, 1], [2, 1])], {"scale": "B"}, group=FILTER)
    per_frame("laplacian", "scale", [1, 0.5, 2], [1.5, 0.75], FILTER)
    per_frame("laplacian", "window_size", [3, 5, 7], [5, 3], FILTER, dtype="int32")
    per_frame("laplacian", "smoothing_size", [1, 3, 5], [5, 3], FILTER, dtype="int32")
    v, w = videos(), [literal(np.round(N.randn(n, 3, 3), 1).astype("float32")) for n in (3, 2)]
    case("filter", ["a", "B"], [v, w], {}, group=FILTER)
    case("filter", ["a", "b"], [v, w], {}, group=FILTER)
    one = [literal(np.array(x["value"], "float32")[0]) for x in w]
    places = values([[0, 0], [1, 2], [2, 0]], [[1, 1], [2, 2]], dtype="int32")
    case("filter", ["a", "b"], [v, one, places], {"anchor": "C"}, group=FILTER)
    case("filter", ["a", "B"], [v, w, places], {"anchor": "C"}, group=FILTER)
    case("filter", ["a", "B", "C"], [v, w, values([1, 2, 3], [4, 5], dtype="uint8")], {}, {"border": "constant"}, FILTER)
    case("filter", ["a", "b", "C"], [v, one, values([1, 2, 3], [4, 5], dtype="uint8")], {}, {"border": "constant"}, FILTER)
    first = [literal(np.array(x["value"], "uint8")[0], "HWC") for x in v]
    case("filter", ["a", "B"], [first, w], {}, group=FILTER)
    blues = [[[0, 0], [0, 1], [1, 1]], [[1, 0], [0, 0]]]
    per_frame("debayer", "blue_position", *blues, GEOM, dtype="int32", layout="FHW", c=0, h=4, w=4)


def warps():
    per_frame("rotate", "angle", [10, 45, 90], [30, 200], GEOM)
    per_frame("rotate", "angle", [10, 45, 90], [30, 200], GEOM, {"keep_size": True, "fill_value": 7.0})
    per_frame("rotate", "angle", [[10], [45], [90]], [[30], [200]], GEOM, {"size": [3, 4], "interp_type": enum("INTERP_NN")})
    for h, w in ((4, 5), (5, 2)):
        for angles in ([5, 90], [1, 89], [45, 46, 44], [20, 70, 90, 100]):
            v = [literal(video(len(angles), h, w, 1), "FHWC")]
            case("rotate", ["a"], [v, values(angles)], {"angle": "B"}, {"interp_type": enum("INTERP_NN"), "fill_value": 0.0})
    solid = [literal(N.randint(0, 256, (2, 3, 4, 5, 1)).astype("uint8"), "FDHWC") for _ in range(2)]
    nearest = {"interp_type": enum("INTERP_NN"), "fill_value": 0.0}
    case("rotate", ["a"], [solid, values([30, 45], [80, 90])], {"angle": "B"}, {**nearest, "axis": [0, 0, 1]})
    case("rotate", ["a"], [solid, values([30, 45], [80, 90]), values([[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]])], {"angle": "B", "axis": "C"}, nearest)
    case("rotate", ["a"], [solid, values([[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]])], {"axis": "B"}, {**nearest, "angle": 30.0})
    case("rotate", ["a"], [videos(), values([10, 20, 30], [40, 50]), values([[3, 4]] * 3, [[3, 4]] * 2)], {"angle": "B", "size": "C"})
    m = [[[[1, 0, 1], [0, 1, 0]], [[1, 0.5, 0], [0, 1, 1]], [[0, 1, 0], [1, 0, 0]]], [[[1, 0, 0], [0, 2, 0]], [[1, 0, 0], [0, 1, -1]]]]
    per_frame("warp_affine", "matrix", *m, GEOM, {"fill_value": 1.0})
    p = [[np.eye(3).tolist(), [[1, 0, 1], [0, 1, 0], [0, 0.1, 1]], [[1, 0.5, 0], [0, 1, 1], [0, 0, 1]]], [np.eye(3).tolist(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]]]]
    per_frame("experimental.warp_perspective", "matrix", *p, GEOM)
    for op, x in (("warp_affine", m), ("experimental.warp_perspective", p)):
        v = videos()
        first = [literal(np.array(s["value"], "uint8")[0], "HWC") for s in v]
        case(op, ["a", "B"], [v, values(*x)], {})
        case(op, ["a", "b"], [v, values(*x)], {})
        case(op, ["a", "b"], [v, values(x[0][0], x[1][0])], {})
        case(op, ["a", "B"], [v, values(x[0][:1], x[1][:1])], {})
        case(op, ["a", "B"], [first, values(*x)], {})
    for op, arg in (("rotate", "angle"), ("brightness", "brightness")):
        case(op, ["a"], [[literal(np.zeros((0, 4, 5, 3), "uint8"), "FHWC")], values([])], {arg: "B"})


def transforms():
    pairs = [[[1, 2], [0.5, 1], [2, 3]], [[2, 1], [1, 0.5]]]
    numbers = [[10, 20, 30], [40, 50]]
    base, turn = call("transforms.translation", [], {}, {"offset": [1, 2]})[1], call("transforms.rotation", [], {"angle": "A"})[1]
    for op, arg, x in (("rotation", "angle", numbers), ("scale", "scale", pairs), ("shear", "shear", pairs), ("shear", "angles", pairs),
                       ("translation", "offset", pairs), ("crop", "from_start", pairs), ("crop", "from_end", pairs), ("crop", "to_start", pairs),
                       ("crop", "to_end", pairs)):
        shift = 5 if arg.endswith("end") else -5 if arg.endswith("start") else 0
        x = [[(np.array(y) + shift).tolist() for y in s] for s in x]
        op = "transforms." + op
        case(op, [], [values(*x)], {arg: "A"})
        if arg in ("from_end", "to_start", "to_end"):
            continue
        case(op, [], [values(*x)], {arg: "a"})
        case(op, [], [values(x[0][:1], x[1][:1])], {arg: "A"})
        case(op, [], [values([], []) if arg == "angle" else values(np.zeros((0, 2)), np.zeros((0, 2)))], {arg: "A"})
        case(op, [base], [values(*x)], {arg: "A"})
        case(op, [turn], [values(*numbers), values(*x)], {arg: "B"})
        case(op, [turn], [values([1], [2]), values(*x)], {arg: "B"})
        case(op, [turn], [values(*numbers), values(x[0][0], x[1][0])], {arg: "b"}, {"reverse_order": True})
    for op, first, x in (("rotation", "angle", numbers), ("scale", "scale", pairs), ("shear", "shear", pairs)):
        op = "transforms." + op
        case(op, [], [values(*x), values(*pairs)], {first: "A", "center": "B"})
        case(op, [], [values(*x), values(*pairs)], {"center": "B", first: "A"})
        case(op, [], [values(*x), values(pairs[0][0], pairs[1][0])], {first: "A", "center": "b"})
        case(op, [], [values(*x), values(pairs[0][:1], pairs[1][:1])], {first: "A", "center": "B"})
        case(op, [], [values(x[0][:1], x[1][:1]), values(*pairs)], {first: "A", "center": "B"})
        case(op, [], [values(x[0][:2], x[1]), values(*pairs)], {first: "A", "center": "B"})
    case("transforms.rotation", [], [values(*numbers), values([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 0], [0, 1, 1]])], {"angle": "A", "axis": "B"})
    case("transforms.combine", [turn, base], [values(*numbers)], {})
    case("transforms.combine", [base, turn], [values(*numbers)], {}, {"reverse_order": True})
    case("transforms.combine", [turn, call("transforms.rotation", [], {"angle": "B"})[1]], [values(*numbers), values(*numbers)], {})
    case("transforms.combine", [turn, call("transforms.rotation", [], {"angle": "B"})[1]], [values(*numbers), values([1], [2])], {})


def points():
    p = [literal(np.round(N.randn(n, 2, 2), 1).astype("float32"), "F**") for n in (3, 2)]
    named = [literal(np.array(x["value"], "float32"), "FNC") for x in p]
    bare = [literal(np.array(x["value"], "float32")) for x in p]
    one = [literal(np.array(x["value"], "float32")[0], "NC") for x in p]
    single = [literal(np.array(x["value"], "float32")[0]) for x in p]
    for arg, x in (("MT", [[[[1, 0, 1], [0, 1, 2]], [[2, 0, 0], [1, 1, 1]], [[0, 1, 0], [1, 0, 0]]], [[[1, 2, 3], [4, 5, 6]], [[1, 0, 0], [0, 1, 0]]]]),
                   ("M", [[[[1, 0], [0, 2]], [[2, 1], [1, 1]], [[0, 1], [1, 0]]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]),
                   ("T", [[[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4]]])):
        for data in (p, named, bare, one, single) if arg == "MT" else (p,):
            case("coord_transform", ["a"], [data, values(*x)], {arg: "B"})
        case("coord_transform", ["a"], [p, values(x[0][0], x[1][0])], {arg: "b"})
        case("coord_transform", ["a"], [p, values(x[0][:1], x[1][:1])], {arg: "B"})
        case("coord_transform", ["a"], [p, values(x[0][:2], x[1][:2])], {arg: "B"})


def refused():
    """Arguments that cannot have a value for each frame."""
    for op, arg, dtype, constants in (
            ("flip", "horizontal", "int32", None), ("crop", "crop_pos_x", "float32", {"crop": [2, 2]}), ("resize", "resize_x", "float32", None),
            ("crop_mirror_normalize", "mirror", "int32", {"dtype": enum("UINT8"), "output_layout": "FHWC"}), ("jpeg_compression_distortion", "quality", "int32", None),
            ("noise.salt_and_pepper", "prob", "float32", None), ("grid_mask", "ratio", "float32", None), ("resize_crop_mirror", "mirror", "int32", {"crop": [2, 2]})):
        case(op, ["a"], [videos(), values([1, 0, 1], [1, 0], dtype=dtype)], {arg: "B"}, constants)


def layouts():
    """Every operator on images with every layout of sequences."""
    plain = {
        "rotate": {"angle": 90.0}, "brightness": {"brightness": 0.5}, "contrast": {"contrast": 0.5}, "brightness_contrast": {"contrast": 0.5}, "hsv": {"hue": 20.0, "dtype": enum("FLOAT")},
        "hue": {"hue": 20.0, "dtype": enum("FLOAT")}, "saturation": {"saturation": 0.5, "dtype": enum("FLOAT")}, "color_twist": {"hue": 20.0, "dtype": enum("FLOAT")}, "gaussian_blur": {"sigma": 1.0}, "laplacian": {},
        "flip": {"horizontal": 1}, "crop_mirror_normalize": {"mirror": 1, "dtype": enum("UINT8")}, "resize": {"resize_x": 3, "interp_type": enum("INTERP_NN")},
        "resize_crop_mirror": {"resize_x": 3, "crop": [1, 2], "interp_type": enum("INTERP_NN")}, "random_resized_crop": {"size": [2, 2], "seed": 5, "interp_type": enum("INTERP_NN")}, "erase": {"anchor": [0, 1], "shape": [1, 2], "axis_names": "HW"},
        "jpeg_compression_distortion": {"quality": 20}, "paste": {"ratio": 2.0, "fill_value": 0}, "equalize": {}, "sphere": {}, "water": {},
        "clahe": {"clip_limit": 2.0, "tiles_x": 2, "tiles_y": 2}, "warp_affine": {"matrix": [1, 0, 1, 0, 1, 0]}, "crop": {"crop": [2, 2]},
        "color_space_conversion": {"image_type": enum("RGB"), "output_type": enum("GRAY")},
        "experimental.warp_perspective": {"matrix": [1, 0, 1, 0, 1, 0, 0, 0, 1]}, "debayer": {"blue_position": [0, 0]},
        "tensor_resize": {"sizes": [2, 3], "axes": [1, 2], "interp_type": enum("INTERP_NN")}, "multi_paste": {},
    }
    groups = {**dict.fromkeys(("gaussian_blur", "laplacian"), FILTER), **dict.fromkeys(("brightness", "contrast", "brightness_contrast", "hsv", "hue", "saturation", "color_twist", "color_space_conversion", "equalize"), COLOR)}
    for op, args in plain.items():
        for layout in LAYOUTS:
            a = dict(args)
            if "D" in layout:
                a.update({"rotate": {"axis": [0, 0, 1]}, "warp_affine": {"matrix": [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0]}, "crop": {"crop": [1, 2, 2]},
                          "resize_crop_mirror": {"crop": [1, 1, 2]}}.get(op, {}))
            if op == "crop_mirror_normalize":
                a["output_layout"] = layout
            if op == "crop" and len(layout) == 5:
                continue  # DALI refuses what its documentation lists, and Bivouac does not
            data = literal(N.randint(0, 256, [EXTENT[x] for x in layout]).astype("uint8"), layout)
            record(op, [[data]], a, exact=False, group=groups.get(op, GEOM))
            lean(CASES[-1])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.makedirs(sys.argv[1], exist_ok=True)
    OUT, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for family in (colors, filters, warps, transforms, points, refused, layouts):
        family()
    with open(os.path.join(OUT, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
