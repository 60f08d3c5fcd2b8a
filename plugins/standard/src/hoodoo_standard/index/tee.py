"""Tee: two indexes are asked, writes go by the first, and where they differ is told.

For the time in which a new index, the record index, has to gain trust beside the old one (RFC-08).
"""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve

from hoodoo_standard.options import TEE


@frozen
class TeeIndex:
    """Core asks both; by itself it answers as ``first``."""

    first: LookupIndex
    second: LookupIndex

    @classmethod
    def from_settings(cls, settings: Settings) -> TeeIndex:
        names: tuple[str, ...] = settings.given(TEE) or ()
        text = TEE.spell(names)
        if len(names) != 2 or "tee" in names:
            raise ConfigError(
                f"option {TEE.key}", f"names the two indexes to ask, and is {text!r}.",
                "give for example global_bloom,record_index.",
            )  # fmt: skip
        first, second = (resolve("index", name, settings).instance for name in names)
        for index, name in ((first, names[0]), (second, names[1])):
            if not isinstance(index, LookupIndex):
                raise ConfigError(
                    f"option {TEE.key}",
                    f"names {name}, which looks no key up.",
                    "name another one.",
                )
        if first.is_global != second.is_global:
            raise ConfigError(
                f"option {TEE.key}",
                f"{text}: one finds keys in the whole table, the other in their partition path.",
                "name two of a kind.",
            )
        return cls(first, second)

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
