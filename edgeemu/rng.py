"""The only source of randomness: one seed for a run, and named streams that derive from it.

A draw in one stream never moves another, because each is seeded by a digest of the run's seed and
its own label. This randomness is for reproducibility, not for secrets.
"""

import hashlib
import random
import secrets

from edgeemu.errors import Code, EdgeemuError
from edgeemu.limits import INTEGER_MAX

SEED_MAX = INTEGER_MAX
"""The largest seed: it must survive JSON in every language."""

Random = random.Random
"""A seeded stream of random numbers, as the standard library has it."""


def stream(seed: int, *labels: str | int) -> random.Random:
    """A stream of its own for `labels`, the same for the same seed on every machine."""
    text = "\x1f".join([str(seed), *map(str, labels)])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return random.Random(int.from_bytes(digest, "big"))


def draw_seed() -> int:
    """A fresh seed for a run that was given none."""
    return secrets.randbelow(2**31)


def draw_token() -> str:
    """A secret for the control API: from the system, never from the seed."""
    return secrets.token_urlsafe(24)


def check_seed(seed: int) -> int:
    """`seed` itself, if it can be one.

    Raises:
        EdgeemuError: `E_NUMBER_INVALID` when it is negative or above `SEED_MAX`.
    """
    if 0 <= seed <= SEED_MAX:
        return seed
    raise EdgeemuError(
        Code.NUMBER_INVALID,
        what=f"`{seed}` cannot be a seed",
        why=f"a seed is a whole number from 0 to {SEED_MAX}",
        fix="give a number in that range, or leave it out to have one drawn",
    )
