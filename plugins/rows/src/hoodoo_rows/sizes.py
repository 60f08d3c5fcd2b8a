"""Sizes of files, in a few figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen


@frozen
class Sizes:
    """How large files are, in bytes. All zero where there are none."""

    count: int = 0
    bytes: int = 0
    smallest: int = 0
    p10: int = 0
    median: int = 0
    p90: int = 0
    largest: int = 0

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Sizes:
        """The figures of ``sizes`` (bytes)."""
        if not sizes:
            return cls()
        at = np.percentile(np.array(sizes, np.int64), (0, 10, 50, 90, 100), method="nearest")
        return cls(len(sizes), sum(sizes), *(int(value) for value in at))
