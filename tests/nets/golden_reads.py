"""Real tables of Hudi, for the same checks: what these writers chose, no random table here has chosen."""

from __future__ import annotations

from pathlib import Path

import hoodoo
from attrs import define, field
from hoodoo.errors import ConfigError

_SEQUENCE = "_hoodie_commit_seqno"


@define
class GoldenTable:
    """The table in the directory ``path``, which is not changed."""

    seed: str
    path: str
    setup: str
    story: list[str]
    often: tuple[str, ...]
    is_merged: bool
    writes: list[str] = field(factory=list)
    identity: str = _SEQUENCE

    @classmethod
    def of(cls, name: str, path: Path) -> GoldenTable | None:
        """None where rows have nothing that tells them apart."""
        table = hoodoo.open(str(path))
        config = table.config
        if (
            table.read([_SEQUENCE]).to_arrow().column(0).null_count
        ):  # virtual keys: rows do not fill it
            return None
        often = (*config.record_key_fields, *config.partition_fields)
        merged = config.table_type == "MERGE_ON_READ"
        made = cls(name, str(path), str(config.table_type), [f"golden table {name}"], often, merged)
        made.writes = [
            i.requested for i in table.timeline().writes() if made._is_there(table, i.requested)
        ]
        return made

    def _is_there(self, table: hoodoo.Table, instant: str) -> bool:
        """Whether all that reads of the table as of then need has not been cleaned."""
        try:
            table.read(as_of=instant).to_arrow()
            table.incremental(instant).to_arrow()
        except ConfigError:
            return False
        return True
