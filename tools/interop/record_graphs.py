"""Record pipeline_graphs.py, pipeline_conditions.py and pipeline_augment.py of python/tests from DALI.

Usage: record_graphs.py

It needs DALI 2.4.0 and writes files of the same names that end in .json. Source positions, which
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
    import pipeline_augment
    import pipeline_conditions
    import pipeline_graphs

    record(pipeline_graphs.graphs(dali), "pipeline_graphs")
    record(pipeline_conditions.graphs(dali), "pipeline_conditions")
    augmented = {
        "results": {k: pipeline_augment.results(dali, v) for k, v in pipeline_augment.cases().items()},
        "signatures": pipeline_augment.signatures(dali),
        "refused": sorted(name for name, err in pipeline_augment.refused(dali).items() if err),
    }
    (TESTS / "pipeline_augment.json").write_text(json.dumps(augmented, indent=1) + "\n")


def record(graphs: dict[str, bytes], name: str) -> None:
    """Write serialized pipelines to a file of the tests."""
    packed = {k: base64.b64encode(zlib.compress(v, 9)).decode() for k, v in graphs.items()}
    (TESTS / f"{name}.json").write_text(json.dumps(packed, indent=1) + "\n")


if __name__ == "__main__":
    main()
