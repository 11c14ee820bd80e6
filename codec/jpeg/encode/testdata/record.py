"""Records the SHA-256 of files that Pillow writes with libjpeg-turbo.

    python record.py > files.json

Needs Pillow and numpy. The images are made by a formula that the test repeats.
"""

import hashlib
import io
import json

import numpy as np
from PIL import Image, features


def image(kind: int, h: int, w: int, c: int) -> np.ndarray:
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    if kind == 0:  # smooth with some noise
        return (x * (k + 1) // 2 + y + (x * 31 + y * 17 + k * 7) % 23).astype(np.uint8)
    if kind == 1:  # hard edges
        return (((x // 3 + y // 5 + k) % 2) * 255).astype(np.uint8)
    return ((x * 7919 + y * 104729 + k * 1299709 + x * y * 31) % 251).astype(np.uint8)


cases = []
for kind in range(3):
    for h, w in [(1, 1), (3, 7), (8, 8), (16, 16), (9, 17), (17, 9), (24, 40), (33, 50), (2, 130)]:
        for c in (1, 3):
            for quality in (1, 10, 35, 50, 75, 90, 95, 100):
                for full in (False, True):
                    if c == 1 and full:
                        continue
                    pixels = image(kind, h, w, c)
                    out = io.BytesIO()
                    if c == 1:
                        Image.fromarray(pixels[..., 0]).save(out, "JPEG", quality=quality)
                    else:
                        subsampling = 0 if full else 2
                        Image.fromarray(pixels).save(
                            out, "JPEG", quality=quality, subsampling=subsampling
                        )
                    digest = hashlib.sha256(out.getvalue()).hexdigest()
                    cases.append([kind, h, w, c, quality, int(full), len(out.getvalue()), digest[:24]])

print('{"libjpeg_turbo": "%s", "cases": [' % features.version("libjpeg_turbo"))
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
