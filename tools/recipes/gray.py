#!/usr/bin/env python3
"""Records what torchvision makes of gray images: gray.py OUT (testdata/recipes).

Writes OUT/gray.json: TrivialAugmentWide and RandAugment of images of Pillow with one channel, with
the numbers that they drew. Two runs give the same bytes.
"""
import base64
import json
import sys
import zlib

import numpy as np
import PIL.Image
import torch
import torchvision
import torchvision.transforms.v2 as v2

from images import image

NAMES = {
    "Identity": "identity", "ShearX": "shear_x", "ShearY": "shear_y", "TranslateX": "translate_x",
    "TranslateY": "translate_y", "Rotate": "rotate", "Brightness": "brightness", "Color": "color",
    "Contrast": "contrast", "Sharpness": "sharpness", "Posterize": "posterize", "Solarize": "solarize",
    "AutoContrast": "auto_contrast", "Equalize": "equalize",
}
SUITE = [
    "identity", "shear_x 0 0.99 signed single", "shear_y 0 0.99 signed single",
    "translate_x_pixels 0 32 signed whole", "translate_y_pixels 0 32 signed whole",
    "rotate 0 135 signed single", "brightness 0 0.99 signed single", "color 0 0.99 signed single",
    "contrast 0 0.99 signed single", "sharpness 0 0.99 signed single", "posterize 8 2",
    "solarize 255 0 single", "auto_contrast", "equalize",
]


class Recorder:
    """Records what torch draws while a transform runs."""

    def __enter__(self):
        self.draws = []
        self.real = torch.rand, torch.randint

        def keep(real):
            def draw(*a, **k):
                v = real(*a, **k)
                self.draws.append(v.item())
                return v
            return draw

        torch.rand, torch.randint = keep(torch.rand), keep(torch.randint)
        return self

    def __exit__(self, *_):
        torch.rand, torch.randint = self.real


def main(folder):
    torch.manual_seed(11)
    cases, data = [], []
    for k in range(100):
        mode = v2.InterpolationMode.NEAREST if k % 3 == 0 else v2.InterpolationMode.BILINEAR
        t = v2.TrivialAugmentWide(interpolation=mode)
        space = list(t._AUGMENTATION_SPACE)
        img, steps = PIL.Image.fromarray(np.ascontiguousarray(image(k)[:, :, 1])), []
        assert img.mode == "L"
        for _ in range(1 + k % 2):
            with Recorder() as r:
                img = t(img)
            name, at, bin_, sign = space[r.draws[0]], 1, 0, False
            magnitudes, signed = t._AUGMENTATION_SPACE[name]
            if magnitudes(31, 8, 8) is not None:
                bin_, at = r.draws[at], at + 1
                if signed:
                    sign, at = r.draws[at] <= 0.5, at + 1
            assert at == len(r.draws), (name, r.draws)
            steps.append([NAMES[name], bin_, int(sign)])
        cases.append({"image": k, "nearest": k % 3 == 0, "steps": steps})
        data.append(np.asarray(img).tobytes())
    with open(folder + "/gray.json", "w") as f:
        json.dump({"torchvision": torchvision.__version__.split("+")[0], "pillow": PIL.__version__, "suite": SUITE, "cases": cases,
                   "images": base64.b64encode(zlib.compress(b"".join(data), 9)).decode()}, f, separators=(",", ":"))
        f.write("\n")
    print(len(cases), "cases")


main(sys.argv[1])
