"""The number of outputs of operators whose arguments or inputs decide it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bivouac._pipeline.schemas import Schema

__all__ = ["outputs"]


def outputs(schema: Schema, args: Mapping[str, Any], inputs: int) -> int:
    """Ask the side-car how many outputs an operator has.

    Args:
      schema: the operator.
      args: its constant arguments. Members of enumerations are numbers.
      inputs: how many inputs it has.
    """
    from bivouac import _client

    answer = _client.connection().call(
        "operator.outputs", operator=schema.name, args=json.dumps(dict(args)), inputs=inputs
    )
    return int(answer["outputs"])
