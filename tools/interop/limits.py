"""What each library cannot hold, with the reason: printed by every run, never skipped in silence."""

import dataclasses

from values import DTYPES, NAMES

ZARR = [d for d in DTYPES if d not in ("uint2", "uint4", "float8_e4m3", "float6_e2m3fn", "float6_e3m2fn")]
NUMPY = [d for d in ZARR if not d.startswith(("float8", "float4", "bfloat", "int2", "int4"))]
SAFETENSORS = [
    d for d in DTYPES
    if d not in ("int2", "int4", "uint2", "uint4", "complex128", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn")
]


@dataclasses.dataclass
class Limits:
    """What one library and layout hold."""

    dtypes: list
    names: list = dataclasses.field(default_factory=lambda: NAMES)
    max_rank: int = 5
    nested: bool = True
    zero_size: bool = False
    scalars: bool = True
    strings: bool = True
    empties: bool = True


def is_file_name(name):
    """Whether an array of that name can have a directory of its own: see NOT_POSSIBLE."""
    return not name.startswith("/") and name != "_METADATA" and "\\" not in name


ORBAX = Limits(ZARR)
ORBAX_FILES = Limits(ZARR, names=[n for n in NAMES if is_file_name(n)])
ARRAYS = Limits(SAFETENSORS, nested=False, zero_size=True, scalars=False, strings=False, empties=False)

NOT_POSSIBLE = [
    ("orbax", "uint2, uint4, float8_e4m3, float6_e2m3fn, float6_e3m2fn", "TensorStore has no such data type"),
    ("orbax", "arrays with a zero-length axis", "Orbax: Cannot save arrays with zero size"),
    ("orbax", "bytes, complex numbers and numpy scalars as leaves", "Orbax: Unsupported leaf type"),
    ("orbax", "integers below -2^63 or from 2^64 on", "Orbax: Unsupported data type: object"),
    ("orbax", 'strings below a key with "~" that is not "~0" or "~1"', "TensorStore: JSON Pointer"),
    ("orbax", "leaves of leaf handlers of our own", "Orbax: TypeHandler lookup failed for: type=<type string>; placeholders and partial loads pass over them"),
    ("orbax", "items of handlers of our own", "Orbax: NoEntryError: Failed to load checkpointable: <name> due to incompatible handler"),
    ("orbax", "tuples as tuples without an abstract tree", "Orbax gives lists back"),
    ("orbax without OCDBT", 'names that begin with "/"', "they are joined to the path, and leave it"),
    ("orbax without OCDBT", "a parameter _METADATA", "its directory has the name of a file of Orbax"),
    ("bivouac without OCDBT", "names with a backslash", "refused with an error: names in a store mean the same on every system"),
    ("tensorstore", "uint2, uint4, float8_e4m3, float6_e2m3fn, float6_e3m2fn", "TensorStore has no such data type"),
    ("tensorstore, zarr-python", "strings, None and empty containers", "they are in Orbax's documents, not arrays"),
    ("zarr-python", "arrays in an OCDBT database", "zarr-python has no such store"),
    ("zarr-python", "bfloat16, float8_*, float4_*, int2, int4 and all other types of ml_dtypes", "zarr: No Zarr data type found"),
    ("safetensors", "int2, int4, uint2, uint4, complex128, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz", "safetensors: Unknown dtype"),
    ("safetensors", "float6_e2m3fn, float6_e3m2fn", "safetensors 0.8.0 writes no F6 from Python"),
    ("safetensors", "nested trees, scalars, strings, None and empty containers", "a file is one dictionary of arrays"),
    ("safetensors.numpy", "F8_*, F6_* and F4 as numpy arrays", "numpy lacks them: compared through safetensors.deserialize"),
    ("orbax of safetensors", "C64, F8_*FNUZ, F8_E8M0, F6_* and F4", "Orbax: Unsupported dtype in SafeTensors header"),
]


def table():
    width = max(len(row[0]) for row in NOT_POSSIBLE)
    lines = [f"not possible there ({len(NOT_POSSIBLE)}):"]
    lines += [f"  {who:{width}}  {what}: {why}" for who, what, why in NOT_POSSIBLE]
    return "\n".join(lines)
