"""Verify: rows lie in the partition path that their columns make, in a table that says that all do.

Readers leave out whole partition paths by it. Costs the partition columns of the newest slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding, Found, Progress
from hoodoo_rows.api import Batches, Reads, ScanPlan, StoredFiles

from hoodoo_cli.reports.verify.doubles import SHOWN, some

_AT_ONCE = 4
_FIX = (
    f"upsert these rows with an index that moves keys, or set {Reads.FOLLOWS}=false in "
    "hoodie.properties."
)


def check_placement(source: ReadSource, progress: Progress) -> Found:
    """Compare the partition path of each row with the one that the table's key generator makes of
    it. Nothing is looked at where the table does not say that they are the same."""
    keys = source.key_generator
    if keys is None or not keys.partition_fields:
        return Found()
    try:
        if not Reads.rows_follow_columns(source.snapshot):
            return Found()
        columns = list(dict.fromkeys(name.split(".")[0] for name in keys.partition_fields))
        plan = Reads.by_keys(Reads.plan(source, columns=columns))
    except HoodooError:
        return Found()  # told by those who read the rows
    todo = [partial(_misplaced, source, keys, plan, slice_) for slice_ in plan.slices]
    findings = []
    for done, found in enumerate(Batches.in_order(todo, _AT_ONCE), 1):
        progress("partition paths", done, len(todo))
        findings += found
    return Found(tuple(findings))


def _misplaced(
    source: ReadSource, keys: KeyGenerator, plan: ScanPlan, slice_: FileSlice
) -> Iterator[list[Finding]]:
    file_format = StoredFiles.format(source)
    rows, paths = 0, pa.array([], pa.string())
    try:
        for batch in Batches.of_slice(source.storage, file_format, plan.spec, slice_, plan.rule):
            made = keys.partition_paths(batch)
            other = made.filter(pc.not_equal(made, slice_.partition_path))
            rows += len(other)
            paths = pc.unique(pa.concat_arrays([paths, pc.unique(other)]))[: SHOWN + 1]
    except HoodooError:
        yield []  # told by those who read the rows
        return
    if not rows:
        yield []
        return
    file = slice_.base_file or slice_.log_files[0]
    rule = (
        f"{rows} of the rows of its file slice belong to another partition path by their columns "
        f"({some(paths.to_pylist())}), and the table says that none does; readers then miss them"
    )
    yield [Finding("row.placement", file.path, rule, _FIX)]
