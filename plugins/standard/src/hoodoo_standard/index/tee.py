"""Tee: two indexes are asked, writes go by the first, and where they differ is reported.

For the time in which a new index, the record index, has to gain trust beside the old one (RFC-08).
"""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import ComputedIndex, IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve

from hoodoo_standard.options import TEE


@frozen
class TeeIndex:
    """Core asks both; by itself it answers as ``first``."""

    first: LookupIndex
    second: LookupIndex

    @property
    def is_global(self) -> bool:
        return self.first.is_global

    @property
    def moves_partitions(self) -> bool:
        return self.first.moves_partitions

    @property
    def knows_logs(self) -> bool:
        return bool(getattr(self.first, "knows_logs", False))

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        return self.first.locate(keys, context)


@frozen
class ComputedTee:
    """The same where the first one computes file groups: rows go where it says, without being
    looked up."""

    first: ComputedIndex
    second: LookupIndex

    @property
    def is_global(self) -> bool:
        return self.first.is_global

    @property
    def moves_partitions(self) -> bool:
        return self.first.moves_partitions

    @property
    def buckets(self) -> int:
        return self.first.buckets

    def bucket(self, record_keys: pa.Array) -> pa.Array:
        return self.first.bucket(record_keys)

    def file_id(self, bucket: int, uuid: str) -> str:
        return self.first.file_id(bucket, uuid)

    def bucket_of(self, file_id: str) -> int:
        return self.first.bucket_of(file_id)


def from_settings(settings: Settings) -> TeeIndex | ComputedTee:
    """Raises ConfigError unless two indexes are named, the second of which looks keys up."""
    names: tuple[str, ...] = settings.given(TEE) or ()
    text = TEE.spell(names)
    if len(names) != 2 or "tee" in (name.lower() for name in names):
        raise ConfigError(
            f"option {TEE.key}",
            f"must name two other indexes, not {text!r}.",
            "Give for example global_bloom,record_index.",
        )
    first, second = (resolve("index", name, settings).instance for name in names)
    if not isinstance(second, LookupIndex):
        raise ConfigError(
            f"option {TEE.key}",
            f"names {names[1]} second, which looks up no keys: it computes where rows have to lie.",
            "Name it first, or name another index.",
        )
    if isinstance(first, ComputedIndex):
        return ComputedTee(first, second)
    return TeeIndex(first, second)
