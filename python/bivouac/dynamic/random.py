"""The generator of dynamic mode, and the operators that draw random numbers."""

from bivouac._dynamic.random import RNG as RNG
from bivouac._dynamic.random import get_default_rng as get_default_rng
from bivouac._dynamic.random import set_seed as set_seed
