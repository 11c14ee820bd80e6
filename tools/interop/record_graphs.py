"""Record the graphs of python/tests/pipeline_graphs.py from DALI, for python/tests.

Usage: record_graphs.py [FILE]

It needs DALI 2.4.0 and writes python/tests/pipeline_graphs.json, or FILE. Source positions, which
DALI adds to each operator, are left out.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
import zlib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path.insert(0, str(TESTS))


def main() -> None:
    warnings.simplefilter("ignore")
    from nvidia.dali._utils import dali_trace

    dali_trace.set_tracing(enabled=False)
    import nvidia.dali as dali
    import nvidia.dali.math
    import nvidia.dali.tfrecord
    import pipeline_graphs

    found = pipeline_graphs.graphs(dali)
    packed = {
        name: base64.b64encode(zlib.compress(data, 9)).decode() for name, data in found.items()
    }
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TESTS / "pipeline_graphs.json"
    path.write_text(json.dumps(packed, indent=1) + "\n")


if __name__ == "__main__":
    main()
