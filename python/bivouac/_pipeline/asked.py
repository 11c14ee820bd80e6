"""The number of outputs of operators whose arguments or inputs decide it."""

from __future__ import annotations

import base64

from bivouac._pipeline import message

__all__ = ["outputs"]


def outputs(operator: message.Operator) -> int:
    """Ask the side-car how many outputs an operator has. Those that it names do not count."""
    from bivouac import _client

    graph = message.Pipeline(
        num_threads=1,
        batch_size=1,
        ops=[operator],
        outputs=[],
        device_id=message.CPU_ONLY,
        seed=None,
        enable_checkpointing=False,
        executor_type=0,
        executor_flags=0,
        cpu_queue_size=1,
        gpu_queue_size=1,
        bytes_per_sample=0,
    )
    answer = _client.connection().call(
        "operator.outputs", graph=base64.b64encode(graph.encode()).decode()
    )
    return int(answer["outputs"])
