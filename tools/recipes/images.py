"""Images that are made of numbers. Tests in Go make the same ones."""
import numpy as np

SIZES = [(24, 32), (17, 13), (2, 2), (1, 1), (31, 20), (3, 50)]


def image(k, size=None):
    """Image k: a gradient, a texture, few values or one value."""
    h, w = size or SIZES[k % len(SIZES)]
    y, x, c = np.meshgrid(np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    v = [
        x * 255 // max(w - 1, 1) // (c + 1) + y * 3,
        (x * 7 + y * 13 + c * 29 + x * y * 5 + k * 31) ^ (x * (c + 3)),
        100 + (x + y * 2 + c) % 7 * 9,
        0 * x + 40 + 50 * c + k,
        (x * x + y * y * 3 + 17 * c) % 251,
    ][k % 5]
    return (v & 255).astype(np.uint8)
