"""Random generators that nobody seeded: they are seeded around checks, replays and imports of modules."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_ENTROPY = "randbits"
"""The function of `numpy.random.bit_generator` that seeds a generator without a seed."""


@contextmanager
def generators_seeded(seed: int) -> Iterator[None]:
    """Seed what is drawn without a seed within; afterwards the global generators are as before.

    These are the generators of `random`, of numpy and of torch, and those of numpy that are made without a seed. A
    library that is loaded only within keeps its own seed.

    Args:
        seed: A 32-bit seed.
    """
    torch = sys.modules.get("torch")  # without it nothing has drawn from it
    numpy = importlib.import_module("numpy.random") if "numpy" in sys.modules else None
    bits = None if numpy is None else numpy.bit_generator
    states = random.getstate(), numpy and numpy.get_state(), torch and torch.get_rng_state()
    entropy = getattr(bits, _ENTROPY, None)
    random.seed(seed)
    if numpy:
        numpy.seed(seed)
    if torch:
        _seed_torch(torch, seed)
    if entropy is not None:
        setattr(bits, _ENTROPY, random.Random(seed).getrandbits)
    try:
        yield
    finally:
        if entropy is not None:
            setattr(bits, _ENTROPY, entropy)
        random.setstate(states[0])
        if numpy:
            numpy.set_state(states[1])
        if torch:
            torch.set_rng_state(states[2])


def _seed_torch(torch: ModuleType, seed: int) -> None:
    """Seed the generators of torch.

    `torch.manual_seed` formats the stack of each call for devices that are not in use yet, which takes longer than all
    else here. Where no device is, only the generator of the processor is left to seed.
    """
    devices = torch.cuda.device_count() or torch.backends.mps.is_available()
    (torch if devices else torch.default_generator).manual_seed(seed)
