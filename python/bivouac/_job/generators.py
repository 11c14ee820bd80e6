"""The states of random generators: those of the process, and those in the state of a job."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy as np

from bivouac._job import values

__all__ = [
    "capture",
    "is_generator",
    "restore",
    "seed_anew",
    "seed_one_anew",
    "set_text",
    "text_of",
]


def capture() -> Any:
    """Return the states of the generators of the process as JSON.

    These are the module `random`, the global generator of numpy, and the generators of torch: of
    the CPU if torch is imported, and of each CUDA device if CUDA is initialised.
    """
    out: dict[str, Any] = {"python": _of_python(random.getstate())}
    out["numpy"] = np.random.get_state(legacy=False)
    torch = sys.modules.get("torch")
    if torch is not None:
        out["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            out["cuda"] = list(torch.cuda.get_rng_state_all())
    return values.encode(out, "the random state")


def restore(saved: Any) -> None:
    """Set the generators of the process to what `capture` returned."""
    found = values.decode(saved)
    if "python" in found:
        random.setstate(_to_python(found["python"]))
    if "numpy" in found:
        np.random.set_state(found["numpy"])
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if "torch" in found:
        torch.set_rng_state(found["torch"])
    if "cuda" in found and torch.cuda.is_available():
        for device, state in zip(range(torch.cuda.device_count()), found["cuda"]):
            torch.cuda.set_rng_state(state, device)


def _of_python(state: tuple[Any, ...]) -> dict[str, Any]:
    version, words, gauss = state
    return {"version": version, "words": np.array(words, np.uint32), "gauss": gauss}


def _to_python(state: dict[str, Any]) -> tuple[Any, ...]:
    return state["version"], tuple(int(word) for word in state["words"]), state["gauss"]


def seed_anew(seed: str) -> None:
    """Seed the generators of the process from a text."""
    rng = random.Random(seed)
    random.seed(rng.getrandbits(256))
    np.random.seed([rng.getrandbits(32) for _ in range(8)])
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(rng.getrandbits(63))


def seed_one_anew(generator: Any, seed: str) -> None:
    """Seed one generator from a text."""
    rng = random.Random(seed)
    words = [rng.getrandbits(32) for _ in range(8)]
    if isinstance(generator, random.Random):
        generator.seed(rng.getrandbits(256))
    elif isinstance(generator, np.random.RandomState):
        generator.seed(words)
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(words).state
    elif isinstance(generator, np.random.BitGenerator):
        generator.state = type(generator)(words).state
    else:
        generator.manual_seed(rng.getrandbits(63))


def is_generator(value: Any) -> bool:
    """Report whether a value is a generator whose state is kept as text."""
    kinds = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return isinstance(value, kinds) and not isinstance(value, random.SystemRandom)


def text_of(generator: Any) -> str:
    """Return the state of a generator as text."""
    state: Any
    if isinstance(generator, random.Random):
        state = _of_python(generator.getstate())
    elif isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
    elif isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
    else:
        state = generator.state
    return json.dumps(values.encode(state, "a random generator"))


def set_text(generator: Any, text: str) -> None:
    """Set the state of a generator to what `text_of` returned."""
    state = values.decode(json.loads(text))
    if isinstance(generator, random.Random):
        generator.setstate(_to_python(state))
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        generator.state = state
