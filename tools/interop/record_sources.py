"""Record what DALI gets of the sources of python/tests/pipeline_sources.py, for python/tests.

Usage: record_sources.py [FILE]

It needs DALI 2.4.0 and writes python/tests/pipeline_sources.json, or FILE.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path.insert(0, str(TESTS))


def epochs(source: Any, options: dict[str, Any]) -> Any:
    """Return the batches of some epochs, or the class of the error."""
    import nvidia.dali as dali
    import pipeline_sources as given

    try:
        pipe = dali.Pipeline(given.BATCH, 1, None, prefetch_queue_depth=1)
        with pipe:
            pipe.set_outputs(dali.fn.external_source(source, **options))
        pipe.build()
        found = []
        for _ in range(given.EPOCHS):
            values: list[Any] = []
            for _ in range(given.MOST):
                try:
                    (out,) = pipe.run()
                except StopIteration:
                    values.append("stop")
                    break
                values.append([int(out.at(i)[0]) for i in range(len(out))])
            pipe.reset()
            found.append(values)
        return found
    except Exception as err:
        return type(err).__name__


def main() -> None:
    warnings.simplefilter("ignore")
    import pipeline_sources as given

    found = {name: epochs(*one) for name, one in given.sources().items()}
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TESTS / "pipeline_sources.json"
    lines = (f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
