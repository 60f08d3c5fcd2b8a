"""From where Arrow takes memory in a Python worker of Spark.

Arrow's usual pool there, mimalloc, gives large blocks back to the operating system at once, and
takes them again for the next batch. Without that, an upsert of 10 % of 6 million rows takes a fifth
less time (docs/benchmarks.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

_CHOSEN = "ARROW_DEFAULT_MEMORY_POOL"
_USUAL = "mimalloc"


@contextmanager
def of_the_system() -> Iterator[None]:
    """Arrow takes memory from the C library while a task of ours runs. The pool stays where
    somebody has chosen it, and in a process of a user's own: a worker runs one task at a time, and
    the next one may be another's."""
    before = pa.default_memory_pool()
    if before.backend_name != _USUAL or os.environ.get(_CHOSEN):
        yield
        return
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
