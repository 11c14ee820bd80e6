"""Record what DALI does in the graphs of python/tests/pipeline_unused.py, for python/tests.

Usage: record_unused.py [FILE]

It needs DALI 2.4.0 and writes python/tests/pipeline_unused.json, or FILE.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path.insert(0, str(TESTS))


def main() -> None:
    warnings.simplefilter("ignore")
    import nvidia.dali as dali
    import nvidia.dali.fn
    import nvidia.dali.ops
    import nvidia.dali.types  # noqa: F401
    import pipeline_unused as given

    lines = []
    for name in sorted(given.graphs()):
        for way in given.WAYS:
            found = given.outcome(dali, name, way)
            if found is not None:
                lines.append(f"{json.dumps(f'{name}, {way}')}: {json.dumps(found)}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TESTS / "pipeline_unused.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
