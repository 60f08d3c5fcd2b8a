"""Bringing part i to task i.

PySpark 4.1 has ``repartitionById``. Before it, ``repartition(n, column)`` hashes: parts collide and
tasks stay empty. Spark's hash of an int (Murmur3, 32 bits, seed 42) can be inverted, so each part
is given the int whose hash is the part's number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_SEED = 42


def _inverse(odd: int) -> int:
    return pow(odd, -1, 1 << 32)


def _rotated_left(x: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    found: npt.NDArray[np.uint32] = (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))
    return found


def _unshifted(x: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    """The inverse of ``x ^ (x >> bits)``."""
    found = x
    for _ in range(32 // bits):
        found = x ^ (found >> np.uint32(bits))
    return found


def murmur3(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Spark's ``hash`` of one int column (``Murmur3_x86_32.hashInt``)."""
    with np.errstate(over="ignore"):
        k = values.astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = _rotated_left(k, 15) * np.uint32(0x1B873593)
        h = _rotated_left(np.uint32(_SEED) ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h = h ^ np.uint32(4)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        found: npt.NDArray[np.int32] = (h ^ (h >> np.uint32(16))).astype(np.int32)
    return found


def inverted(hashes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The ints with these hashes: ``murmur3(inverted(h)) == h``."""
    with np.errstate(over="ignore"):
        h = _unshifted(hashes.astype(np.uint32), 16)
        h = _unshifted(h * np.uint32(_inverse(0xC2B2AE35)), 13)
        h = _unshifted(h * np.uint32(_inverse(0x85EBCA6B)), 16)
        h = h ^ np.uint32(4)
        h = (h - np.uint32(0xE6546B64)) * np.uint32(_inverse(5))
        k = _rotated_left(h, 32 - 13) ^ np.uint32(_SEED)
        k = _rotated_left(k * np.uint32(_inverse(0x1B873593)), 32 - 15)
        found: npt.NDArray[np.int32] = (k * np.uint32(_inverse(0xCC9E2D51))).astype(np.int32)
    return found


def has_ids(df: Any) -> bool:
    """Whether this PySpark takes the number of the task itself."""
    return hasattr(df, "repartitionById")


def routes(df: Any, parts: int) -> npt.NDArray[np.int32]:
    """What the ``route`` column holds for each part: ``parts`` ints."""
    numbers = np.arange(parts, dtype=np.int32)
    return numbers if has_ids(df) else inverted(numbers)


def repartitioned(df: Any, parts: int) -> Any:
    """``df`` in ``parts`` partitions by its column ``route``. A number given by name is kept by
    adaptive execution: it neither merges nor splits these partitions."""
    if has_ids(df):
        return df.repartitionById(parts, "route")
    return df.repartition(parts, "route")


def empty_rows(spark: Any, parts: int, by_id: bool) -> Any:
    """One EMPTY packed row for each part, made inside the JVM.

    Without them an exchange that turns out to have no rows at all is dropped by adaptive execution,
    with its partitions, and the steps after it never run.
    """
    from hoodoo_spark.packed import EMPTY
    from hoodoo_spark.session import functions

    F = functions(spark)

    if by_id:
        base = spark.range(0, parts, 1, 1).select(
            F.col("id").cast("int").alias("route"), F.col("id").cast("int").alias("part")
        )
    else:
        text = ",".join(map(str, inverted(np.arange(parts, dtype=np.int32)).tolist()))
        base = (
            spark.range(0, 1, 1, 1)
            .select(F.posexplode(F.split(F.lit(text), ",")).alias("part", "route"))
            .select(F.col("route").cast("int"), F.col("part").cast("int"))
        )
    return base.select(
        "route",
        "part",
        F.lit(None).cast("int").alias("slot"),
        F.lit(None).cast("int").alias("origin"),
        F.lit(0).alias("seq"),
        F.lit(EMPTY).cast("tinyint").alias("kind"),
        F.lit(b"").cast("binary").alias("payload"),
    )
