"""Write data sets of arrays with numpy and safetensors, and rows.json, which says what is in them.

    pip install numpy safetensors
    python make.py
"""

import json
import pathlib

import numpy
import safetensors
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent


def arrays(first: int, rows: int) -> dict:
    count = numpy.arange(first, first + rows)
    return {
        "label": count.astype(numpy.int32),
        "image": (count[:, None, None] * 10 + numpy.arange(6).reshape(2, 3)).astype(numpy.uint8),
        "score": (count / 4).astype(numpy.float64),
        "empty": numpy.zeros((rows, 0), numpy.float32),
    }


def main() -> None:
    files = []
    for n, (first, rows) in enumerate([(0, 3), (3, 0), (3, 4)]):
        data = arrays(first, rows)
        files.append(rows)
        save_file(data, HERE / f"part-{n}.safetensors", metadata={"made": "here"})
        numpy.savez(HERE / f"stored-{n}.npz", **data)
        numpy.savez_compressed(HERE / f"packed-{n}.npz", **data)
        other = {k: numpy.asfortranarray(v).astype(v.dtype.newbyteorder(">")) for k, v in data.items()}
        numpy.savez(HERE / f"other-{n}.npz", **other)
    whole = arrays(0, sum(files))
    rows = {"rows": files, "made_by": f"numpy {numpy.__version__}, safetensors {safetensors.__version__}",
            "columns": {k: {"dtype": v.dtype.name, "shape": v.shape[1:], "rows": [r.ravel().tolist() for r in v]} for k, v in whole.items()}}
    (HERE / "rows.json").write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
