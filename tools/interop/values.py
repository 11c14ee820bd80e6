"""Random arrays and trees, drawn from a numpy generator.

Every draw that should cover a list (element types, ranks, names) comes from a
Deck, which deals the whole list before it repeats, so that a run of a few trees
meets everything.
"""

import ml_dtypes
import numpy as np

DTYPES = (
    "bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 "
    "float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz "
    "float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn"
).split()

# Names that a format may stumble over. None is a prefix of another at "." or
# "/", which would make two parameters one.
NAMES = [
    "w", "layer_0", "with space", " lead", "a.b", "..hidden", "dot.", "sl/ash", "/abs", "back\\slash",
    'quote"d', "it's", "(0, 'x')", "[0]", "{}", "#1", "per%cent", "%2F", "tilde~0", "col:on", "que?ry", "st*r",
    "0", "7", "007", "-1", "1e5", "0x10", "None", "True", "null", "NaN", "zarr.json", "manifest.ocdbt", "_METADATA",
    "c0", "d", "x" * 60, "naïve", "日本語", "Ünïcödé", "🎉", "e\u0301", "tab\there", "new\nline", "<html>", "&amp;", "$var", "@",
]

STRINGS = ["", "text", "ünïcödé 日本 🎉", 'quote " back \\ slash / ', "line\nbreak\ttab", "null", "1", "\x7f", "long " * 300]

INTEGERS = [0, 1, -1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]

FLOATS = [0.0, -0.0, 1.5, 1e-323, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 0.1, -1e22]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def canonical(a):
    """C-order little-endian bytes, one byte an element for narrow types, signed ones sign-extended."""
    a = np.asarray(a)
    a = np.ascontiguousarray(a).reshape(a.shape)  # keeps 0-d
    if a.dtype.name in ("int2", "int4"):
        return a.astype(np.int8).tobytes()
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("<"))
    return a.tobytes()


def from_canonical(data, dtype, shape):
    if dtype in ("int2", "int4"):
        return np.frombuffer(data, np.int8).astype(dtype_of(dtype)).reshape(shape)
    return np.frombuffer(data, dtype_of(dtype)).reshape(shape)


def unpacked(data, dtype):
    """One byte an element, of elements that safetensors packs: a little-endian stream of bits."""
    bits = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}.get(dtype)
    if bits is None:
        return data
    stream = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, bits)
    return np.packbits(stream, axis=1, bitorder="little").tobytes()


class Deck:
    """Deals a list in random order, again and again."""

    def __init__(self, rng, cards):
        self.rng, self.cards, self.rest = rng, list(cards), []

    def deal(self):
        if not self.rest:
            self.rest = [self.cards[i] for i in self.rng.permutation(len(self.cards))]
        return self.rest.pop()


def random_bits(rng, dtype, shape):
    """An array of random bits, so that NaNs with payloads, infinities and subnormals occur."""
    dt = dtype_of(dtype)
    n = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return rng.integers(0, 2, size=n).astype(bool).reshape(shape)
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}.get(dtype)
    if bits is None:
        return np.frombuffer(rng.bytes(n * dt.itemsize), dt).reshape(shape)
    raw = rng.integers(0, 1 << bits, size=n, dtype=np.uint8)
    if dtype.startswith("int"):
        half = 1 << (bits - 1)
        return ((raw ^ half).astype(np.int8) - half).astype(dt).reshape(shape)
    return raw.view(dt).reshape(shape)


def random_array(rng, dtype, shape):
    """Random bits, or runs of few values that compressors and fill values take notice of."""
    how = rng.integers(0, 6)
    if how == 0:
        return np.zeros(shape, dtype_of(dtype))
    a = random_bits(rng, dtype, shape)
    if how == 1 and a.size:
        a = np.resize(a.reshape(-1)[: max(1, a.size // 7)], a.shape)
    return a


def random_shape(rng, rank, empty=False, big=False):
    limit = [1, 3000, 60, 14, 7, 5][rank] * (12 if big and rank < 3 else 1)
    shape = [int(rng.integers(1, limit + 1)) for _ in range(rank)]
    if empty and rank:
        shape[int(rng.integers(0, rank))] = 0
    return tuple(shape)


class Trees:
    """Random trees for one library and layout.

    limits says what that library and layout hold: dtypes, names, and whether
    empty arrays, scalars, strings, None, containers. array(rng, dtype, shape)
    makes an array leaf.
    """

    def __init__(self, rng, limits, array=random_array):
        self.rng, self.limits, self.array = rng, limits, array
        self.dtypes, self.names = Deck(rng, limits.dtypes), Deck(rng, limits.names)
        self.ranks, self.strings = Deck(rng, range(limits.max_rank + 1)), Deck(rng, STRINGS)
        self.integers, self.floats = Deck(rng, INTEGERS), Deck(rng, FLOATS)
        kinds = ["array"] * 8
        kinds += ["int", "float", "bool"] if limits.scalars else []
        kinds += ["string"] if limits.strings else []
        kinds += ["none", "dict", "list", "tuple"] if limits.empties else []
        kinds += ["empty array"] if limits.zero_size else []
        self.kinds = Deck(rng, kinds)

    def tree(self):
        """A dictionary with some dozens of leaves."""
        self.used = set()
        root = self.dictionary((), 3 if self.limits.nested else 0, 16)
        root["always"] = self.leaf_array()
        return root

    def dictionary(self, path, depth, width):
        out = {}
        for _ in range(int(self.rng.integers((width + 1) // 2, width + 1))):
            name = self.names.deal()
            at = path + (name,)
            if name in out or not self.claim(at):
                continue
            out[name] = self.node(at, depth)
        return out or {"only": self.leaf_array()}

    def claim(self, path):
        """Whether this parameter name is clear of all others, however they are cut."""
        name = ".".join(path)
        if name in self.used or len(name.encode()) > 200:  # files have names of 255 bytes at most
            return False
        self.used.add(name)
        return True

    def node(self, path, depth):
        if depth and self.rng.integers(0, 3) == 0:
            how = self.rng.integers(0, 3)
            if how == 0:
                return self.dictionary(path, depth - 1, 8)
            items = []
            for i in range(int(self.rng.integers(1, 5))):
                at = path + (str(i),)
                self.claim(at)
                items.append(self.node(at, depth - 1))
            return items if how == 1 else tuple(items)
        return self.leaf(self.kinds.deal())

    def leaf_array(self, empty=False):
        rank = self.ranks.deal()
        big = self.rng.integers(0, 8) == 0
        return self.array(self.rng, self.dtypes.deal(), random_shape(self.rng, rank, empty, big))

    def leaf(self, kind):
        match kind:
            case "int":
                return self.integers.deal()
            case "float":
                return self.floats.deal()
            case "bool":
                return bool(self.rng.integers(0, 2))
            case "string":
                return self.strings.deal()
            case "none":
                return None
            case "dict" | "list" | "tuple":
                return {"dict": {}, "list": [], "tuple": ()}[kind]
            case "empty array":
                return self.leaf_array(empty=True)
        return self.leaf_array()
