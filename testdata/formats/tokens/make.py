"""Write the pairs of tokens of this directory and cases.json, which says what is in them.

    pip install torch numpy megatron-core
    python make.py

MMIDIDX is written by megatron.core.datasets.indexed_dataset. No current package writes TNTIDX and
the indexes of fairseq, so they are written here, field by field.
"""

import json
import pathlib
import struct
import sys

import numpy
import torch
import megatron.core
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

HERE = pathlib.Path(__file__).parent

DOCUMENTS = {
    "plain": [[[1, 2, 3]], [[4], [5, 6]], [[7, 8, 9, 10]]],
    "empty": [[], [[1, 2]], [], [[]], [[3]]],
    "one": [[[5]]],
    "none": [],
}


def by_megatron(name: str, dtype: type, documents: list, multimodal: bool = False) -> None:
    builder = IndexedDatasetBuilder(str(HERE / f"{name}.bin"), dtype=dtype, multimodal=multimodal)
    for document in documents:
        for n, sequence in enumerate(document):
            item = torch.tensor(numpy.array(sequence, dtype=numpy.int64))
            builder.add_item(item, n % 2) if multimodal else builder.add_item(item)
        builder.end_document()
    builder.finalize(str(HERE / f"{name}.idx"))


def merged(name: str, parts: list) -> None:
    builder = IndexedDatasetBuilder(str(HERE / f"{name}.bin"), dtype=numpy.uint16)
    for part in parts:
        builder.add_index(str(HERE / part))
    builder.finalize(str(HERE / f"{name}.idx"))


def flat(documents: list) -> list:
    return [sequence for document in documents for sequence in document]


def ends(documents: list) -> list:
    total, out = 0, [0]
    for document in documents:
        total += len(document)
        out.append(total)
    return out


def places(sequences: list) -> list:
    out = [0]
    for sequence in sequences:
        out.append(out[-1] + len(sequence))
    return out


def cached(name: str, code: int, dtype: type, documents: list, fairseq: bool = False) -> None:
    sequences = flat(documents)
    size = numpy.dtype(dtype).itemsize
    index = b"TNTIDX\x00\x00" + struct.pack("<QQQQQ", 1, code, size, len(sequences), len(sequences))
    if not fairseq:
        index += struct.pack("<Q", len(ends(documents)))
    index += numpy.arange(len(sequences) + 1, dtype="<i8").tobytes()
    index += numpy.array(places(sequences), dtype="<i8").tobytes()
    index += numpy.array([len(s) for s in sequences], dtype="<i8").tobytes()
    if not fairseq:
        index += numpy.array(ends(documents), dtype="<i8").tobytes()
    (HERE / f"{name}.idx").write_bytes(index)
    (HERE / f"{name}.bin").write_bytes(numpy.array(sum(sequences, []), dtype=dtype).tobytes())


def mapped_by_fairseq(name: str, code: int, dtype: type, documents: list) -> None:
    sequences = flat(documents)
    size = numpy.dtype(dtype).itemsize
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQ", 1, code, len(sequences))
    index += numpy.array([len(s) for s in sequences], dtype="<i4").tobytes()
    index += numpy.array([size * p for p in places(sequences)[:-1]], dtype="<i8").tobytes()
    (HERE / f"{name}.idx").write_bytes(index)
    (HERE / f"{name}.bin").write_bytes(numpy.array(sum(sequences, []), dtype=dtype).tobytes())


def main() -> None:
    cases = []

    def case(name: str, dtype: type, documents: list, modes: bool = False, old: bool = False) -> None:
        cases.append({"name": name, "dtype": numpy.dtype(dtype).name, "documents": [sum(d, []) for d in documents],
                      "modes": modes, "cached": old})

    kinds = ["uint8", "int8", "int16", "int32", "int64", "float64", "float32", "uint16"]
    for kind in kinds:
        for shape in DOCUMENTS if kind in ("int32", "uint16", "float32") else ["plain"]:
            if kind == "float32" and shape == "none":
                continue  # nothing tells one float from the other
            name, dtype = f"megatron-{kind}-{shape}", getattr(numpy, kind)
            by_megatron(name, dtype, DOCUMENTS[shape])
            case(name, dtype, DOCUMENTS[shape])
    by_megatron("megatron-modes", numpy.int32, DOCUMENTS["plain"], True)
    case("megatron-modes", numpy.int32, DOCUMENTS["plain"], modes=True)
    merged("megatron-merged", ["megatron-uint16-plain", "megatron-uint16-empty", "megatron-uint16-one"])
    case("megatron-merged", numpy.uint16, DOCUMENTS["plain"] + DOCUMENTS["empty"] + DOCUMENTS["one"])
    for code, kind in enumerate(["uint8", "int8", "int16", "int32", "int64", "float64", "float64", "uint16"], 1):
        name, dtype = f"cached-{code}", getattr(numpy, kind)
        cached(name, code, dtype, DOCUMENTS["plain"])
        case(name, dtype, DOCUMENTS["plain"], old=True)
    cached("cached-empty", 4, numpy.int32, DOCUMENTS["empty"])
    case("cached-empty", numpy.int32, DOCUMENTS["empty"], old=True)
    sequences = [[s] for s in flat(DOCUMENTS["plain"])]
    cached("cached-fairseq", 4, numpy.int32, sequences, fairseq=True)
    case("cached-fairseq", numpy.int32, sequences, old=True)
    for code, kind in ((4, "int32"), (6, "float32"), (7, "float64"), (8, "uint16"), (10, "uint64")):
        mapped_by_fairseq(f"fairseq-{code}", code, getattr(numpy, kind), sequences)
        case(f"fairseq-{code}", getattr(numpy, kind), sequences)

    # What Megatron itself reads from its files must be what was meant.
    for c in cases:
        if c["name"].startswith("megatron") and c["documents"]:
            data = IndexedDataset(str(HERE / c["name"]), multimodal=c["modes"])
            got, index = [], data.document_indices
            for first, end in zip(index[:-1], index[1:]):
                items = [data[int(i)] for i in range(first, end)]
                got.append([int(t) for item in items for t in (item[0] if c["modes"] else item)])
            assert got == c["documents"], (c, got)
    versions = f"megatron-core {megatron.core.__version__}, torch {torch.__version__.split('+')[0]}, numpy {numpy.__version__}"
    lines = ",\n".join("  " + json.dumps(c) for c in cases)
    (HERE / "cases.json").write_text(f'{{"made_by": {json.dumps(versions)}, "cases": [\n{lines}\n]}}\n')
    print(len(cases), "cases", versions, file=sys.stderr)


if __name__ == "__main__":
    main()
