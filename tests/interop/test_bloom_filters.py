"""The partition bloom_filters under two writers: the bloom index of each goes by the filters that the other one stored."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import hoodoo
import pytest
from both import Both, same_rows
from hoodoo_metadata.table.keys import filter_key
from hoodoo_standard.index import stored_filters
from indexed import SCHEMA, doubts, rows, said
from model import Model
from mor import wheel

STORED = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.bloom.index.use.metadata": "true",
}


@pytest.fixture(autouse=True)
def filters_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of small files, where reading all keys would be cheaper."""
    monkeypatch.setattr(stored_filters, "_FILTER_COST", 0)


def setup(both: Both, kind: str, index: str) -> None:
    both.setup(Model(("id",)), SCHEMA, 9, index, True, ["region"], table_type=kind)
    both.options.update(STORED)
    both.opened = {"options": {"hoodie.index.type": index}}


def check(both: Both, where: str) -> None:
    opened = both.hoodoo()
    assert "bloom_filters" in opened.config.metadata_partitions, where
    ours = opened.read(meta=True).to_arrow()
    both.model.expect(ours, where)
    same_rows(ours, wheel(both.path), f"{where}, read by hudi")
    report = opened.verify()
    assert not report.findings, (where, [str(f) for f in report.findings[:3]])


def upserts_by_hoodoo(both: Both, numbers: Iterable[int], ts: int) -> hoodoo.Commit:
    return both.hoodoo_upsert(rows(numbers, ts, "hoodoo"))  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["hoodoo", "spark"])
@pytest.mark.parametrize(
    ("kind", "index"), [("COPY_ON_WRITE", "BLOOM"), ("MERGE_ON_READ", "GLOBAL_BLOOM")]
)
def test_by_turns(both: Both, kind: str, index: str, by: str) -> None:
    setup(both, kind, index)
    at = said(both)
    if by == "hoodoo":
        both.create({**STORED, "hoodie.index.type": index})
        upserts_by_hoodoo(both, range(30), 1)
    else:
        both.spark_upsert(rows(range(30), 1, "spark"))
    check(both, "the first rows")
    both.spark_upsert(rows([*range(10, 20), 40, 41], 2, "spark"))
    check(both, "upserts by Spark")
    found = upserts_by_hoodoo(both, [0, 12, 40, 50], 3)
    assert (found.updated, found.inserted) == (3, 1)
    check(both, "upserts by Hoodoo")
    both.spark_delete(rows([50, 12, 1], 4, ""))
    both.hoodoo_delete(rows([41, 13], 5, ""))
    assert both.hoodoo().compact_metadata()
    both.spark_upsert(rows([0, 1, 50, 60], 6, "spark"))
    check(both, "after a compaction")
    assert doubts(both, at) == []


def test_spark_asks_what_hoodoo_stored(both: Both) -> None:
    """A file without its filter is one that Spark's index fails at: it asks no footer."""
    setup(both, "COPY_ON_WRITE", "BLOOM")
    both.create({**STORED, "hoodie.index.type": "BLOOM"})
    upserts_by_hoodoo(both, range(10), 1)
    both.spark_upsert(rows(range(5), 2, "spark"))
    upserts_by_hoodoo(both, range(3, 12), 3)
    base = {filter_key(p.parent.name, p.name) for p in Path(both.path).glob("*/*_*_*.parquet")}
    assert len(base) > 2
    logs = Path(both.path).glob(".hoodie/metadata/bloom_filters/.*.log*")
    newest = both.hoodoo().timeline().writes()[-1].requested
    for log in logs:
        if newest in log.name:
            log.unlink()
    with pytest.raises(Exception, match="bloom filter"):
        both.spark_upsert(rows(range(4, 6), 4, "spark"))
