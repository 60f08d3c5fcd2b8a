"""The real tables of ``tests/golden/data/tables`` live on under Hoodoo, and Spark Hudi reads the same rows after each
step: an upsert, a delete, a compaction, a clean."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from both import Spark
from hoodoo.errors import HoodooWarning
from spark_hudi import LANCE_JARS_VARIABLE, SparkHudi

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.append(str(GOLDEN))  # modules of helpers

from golden_tables import LANCE, OF_1_2, READ  # noqa: E402
from test_lives import newer, one_more, shown, unique_first  # noqa: E402


def unpacked(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(GOLDEN / f"data/tables/{name}.zip") as archive:
        archive.extractall(folder)
    table, *_metadata = sorted(folder.rglob(".hoodie"), key=lambda found: len(found.parts))
    return Path(shutil.move(table.parent, folder / "t"))


def lives(spark: Spark, name: str, folder: Path) -> None:
    path = unpacked(name, folder)

    def check(expected: pa.Table, what: str) -> None:
        ours = hoodoo.open(str(path)).read(columns=expected.schema.names).to_arrow()
        assert shown(ours) == shown(expected), what
        seen = spark.read(path, {"hoodie.metadata.enable": "false"})
        names = [n for n in expected.schema.names if n in seen.schema.names]
        assert set(names) == set(expected.schema.names), what
        assert shown(seen.select(names).cast(ours.select(names).schema)) == shown(expected), what

    with warnings.catch_warnings():  # of parts of a metadata table that are not kept
        warnings.simplefilter("ignore", HoodooWarning)
        table = hoodoo.open(str(path))
        rows = table.read(columns=table.schema.names).to_arrow()
        if not rows.num_rows:
            rows = one_more(table)
            table.upsert(rows)
        rows = unique_first(table, rows)
        changed = newer(table, rows.slice(0, 2))
        table.upsert(changed)
        rows = pa.concat_tables([changed, rows.slice(2)])
        check(rows, "an upsert")
        gone = min(2, rows.num_rows - 1)
        hoodoo.open(str(path)).delete(rows.slice(gone, 1))
        rows = pa.concat_tables([rows.slice(0, gone), rows.slice(gone + 1)])
        table = hoodoo.open(str(path))
        if table.config.table_type == "MERGE_ON_READ":
            check(rows, "a delete")
            assert table.compact().instant
        hoodoo.open(str(path)).clean(commits_retained=1)
        check(rows, "a delete, and services")


@pytest.mark.parametrize("name", [*READ, *OF_1_2])
def test_spark_reads_what_a_real_table_has_become(spark: Spark, name: str, tmp_path: Path) -> None:
    lives(spark, name, tmp_path)


@pytest.fixture(scope="module")
def lance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """A Spark of its own: Lance wants another Arrow than Spark brings."""
    folder = os.environ.get(LANCE_JARS_VARIABLE)
    assert folder, f"{LANCE_JARS_VARIABLE} must name a folder of jars: run `tox run -e interop`"
    with SparkHudi(more_jars=sorted(Path(folder).glob("*.jar"))) as worker:
        yield Spark(worker, tmp_path_factory.mktemp("lance"))


@pytest.mark.parametrize("name", LANCE)
def test_spark_reads_what_a_table_of_lance_has_become(
    lance: Spark, name: str, tmp_path: Path
) -> None:
    lives(lance, name, tmp_path)
