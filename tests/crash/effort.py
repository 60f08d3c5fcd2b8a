"""How much the trials try: HOODOO_TRIALS is ``some`` (by default), ``more`` or ``all``.

``some`` is what fits into the default run, other ones in each; ``more`` takes minutes (`tox run -e trials`),
``all`` takes hours.
"""

from __future__ import annotations

import os

_NAMES = ("some", "more", "all")
_CHOSEN = _NAMES.index(os.environ.get("HOODOO_TRIALS") or _NAMES[0])
MORE = _CHOSEN > 0
ALL = _CHOSEN > 1


def effort(some: int, more: int) -> int:
    """How many of something."""
    return more if MORE else some
