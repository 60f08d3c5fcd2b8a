"""What a pairwise history compares: rows with the dictionary, by Hoodoo and by `hudi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pair_space as space
import pyarrow as pa
from hoodoo.model.meta import META_COLUMNS
from table_checks import canonical, hudi_rows, table_of

if TYPE_CHECKING:
    from pair_history import History
    from pair_model import PairModel

_META = ("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path")


def same(found: pa.Table, schema: pa.Schema, rows: list[dict[str, Any]], where: str) -> None:
    """The rows, of these columns alone."""
    wanted = canonical(table_of(rows, schema))
    seen = canonical(found.select(schema.names))
    surplus = [row for row in seen if row not in wanted]
    missing = [row for row in wanted if row not in seen]
    assert seen == wanted, f"{where}\nsurplus {surplus}\nmissing {missing}"


def check_rows(
    found: pa.Table, schema: pa.Schema, model: PairModel, where: str, changed: bool = False
) -> None:
    """``found`` holds the rows of the model, with its schema, and the meta columns where these are stored."""
    own = [name for name in found.schema.names if name not in META_COLUMNS]
    assert found.select(own).schema.equals(schema), f"{where}: {found.schema}"
    setup = model.setup
    names = [n for n in _META if setup.shown_meta is None or n in setup.shown_meta]
    if setup.made or setup.config["record keys"] != space.STORED:
        names = [n for n in names if n != _META[1]]
    if changed:
        names = []
    assert set(names) <= set(found.schema.names), where
    rows = [
        {**dict(zip(_META, (row.instant, row.key, row.path), strict=True)), **row.values}
        for row in model.rows.values()
    ]
    whole = pa.schema([*((name, pa.string()) for name in names), *schema])
    same(found, whole, [{n: row[n] for n in whole.names} for row in rows], where)


def check_hudi(history: History) -> None:
    """The independent reader sees the same rows, where it can read the table."""
    if not readable(history):
        return
    schema, model = history.schema, history.model
    try:
        found = hudi_rows(history.path)
    except Exception as error:
        # It takes log rows of before a change of the schema for a partial update, and refuses.
        if history.setup.merge_on_read and "partial-update column" in str(error):
            return
        raise
    if found is None:
        assert not model.rows, "`hudi` sees no rows"
        return
    same(found, schema, [row.values for row in model.rows.values()], "`hudi`")


def readable(history: History) -> bool:
    setup, config = history.setup, history.config
    if history.altered:
        return False  # it reads no schema of Hudi's evolution on read
    version = int(config["version"])  # a step may have changed it since the table was made
    if config["partitions"] == space.CUSTOM and version >= 8:
        return False  # it takes `p:SIMPLE` for the name of a column
    if config["columns"] != "plain":
        return False  # it knows none of these types
    if config["made by"] != space.CREATE:
        return False  # of a skeleton it reads Hudi's columns alone
    virtual = config["record keys"] != space.STORED
    if virtual and config["partitions"] in (space.TIMESTAMP, space.CUSTOM):
        return False  # who makes these paths it does not know
    if not setup.merge_on_read:
        return True
    if config["ordering"] == space.TWO:
        return False  # it refuses them; of one of them alone other rows win
    prefixed = setup.prefixed or (len(setup.key) == 1 and space.generator(config) == "COMPLEX")
    if virtual and (prefixed or config["key columns"] == space.JOINED):
        return False  # it takes another text for the key than Spark Hudi and Hoodoo do
    if version == 6:
        return not history._pending("compaction")  # it loses the log rows behind it
    there = {instant.requested for instant in history.table.timeline().instants}
    if not all(instant in there for instant in history.known):
        return False  # it asks the active timeline alone when log files were completed
    # It does not see file groups of log files alone where a metadata table lists them.
    alone = any(slice_.base_file is None for slice_ in history.table.file_slices())
    return not (alone and history._has_metadata())
