"""Tables without record key columns: every row gets a key of its own when it is written.

Source: ``AutoRecordGenWrapperAvroKeyGenerator`` of Hudi 1.2: ``<instant>_<task>_<row of the
task>``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.model.meta import RECORD_KEY

from hoodoo_standard.keygen.paths import ByPaths, Paths, noted

_FORM = r"^\d{14,17}_\d+_\d+$"


@frozen
class AutoKeyGenerator(ByPaths):
    """Keys of the write's instant, the task and the row's place in it; paths as of any generator.

    A task that runs again makes the same keys, and no two tasks make the same one.
    """

    paths: Paths
    can_be_virtual = False

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return ()

    def generated_keys(self, rows: int, instant: str, task: int, first_row: int) -> pa.Array:
        places = np.arange(first_row, first_row + rows, dtype=np.int64)
        text = pa.array(places).cast(pa.string())
        return pc.binary_join_element_wise(f"{instant}_{task}", text, "_").cast(pa.string())

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        raise ConfigError(
            "record keys",
            "are made when rows are written, and no column tells them.",
            "use insert, append, bulk_insert or insert_overwrite, or create the table with "
            'record_key="column".',
        )

    def settled(self, stored: Callable[[], pa.RecordBatch | None]) -> AutoKeyGenerator:
        """Old tables may fail to say their key columns: keys that are not of this form tell it."""
        row = stored()
        if row is None or not row.num_rows or row.column(RECORD_KEY).null_count:
            return self
        if not pc.all(pc.match_substring_regex(row.column(RECORD_KEY), pattern=_FORM)).as_py():
            raise ConfigError(
                "record keys",
                f"the table has {row.column(RECORD_KEY)[0].as_py()!r}, which was made of columns, "
                "and "
                "does not say which (hoodie.table.recordkey.fields).",
                "write it once with Hudi and its key columns, which notes them.",
            )
        return self

    def table_properties(self) -> Mapping[str, str]:
        return noted(self.paths)
