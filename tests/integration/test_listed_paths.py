"""Writes and reads list the partition paths that they are about, and no others; what is not listed is not missed."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.testing.steps import before
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("v", pa.int64())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
METADATA = [{"hoodie.metadata.enable": "false"}, {"hoodie.metadata.enable": "true"}]

rows = Maker(SCHEMA, "part", "v", v=1)


def made(path: Path, options: dict[str, str], index: str = "simple", kind: str = KINDS[0]) -> Any:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="part", index=index, table_type=kind,
        options=options,
    )  # fmt: skip
    for number in range(4):
        table.upsert(rows([10 * number + n for n in range(5)], f"p{number}"))
    return hoodoo.open(str(path))


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories outside of ``.hoodie`` that were listed."""
    found: list[str] = []
    store = type(hoodoo.create(str(tmp_path / "other"), SCHEMA, record_key="id").handle.storage)
    before = store.list

    def counted(self: Any, prefix: str = "", recursive: bool = False) -> Any:
        if not prefix.startswith(".hoodie"):
            found.append(prefix)
        return before(self, prefix, recursive)

    monkeypatch.setattr(store, "list", counted)
    return found


CALLS: list[Callable[[Any], Any]] = [
    lambda t: t.upsert(rows([11, 99], "p1", 2)),
    lambda t: t.insert(rows([98], "p1")),
    lambda t: t.delete(rows([11], "p1").select(["id", "part"])),
    lambda t: t.read(where=pc.field("part") == "p1").to_arrow(),
    lambda t: t.read(where=pc.field("part").isin(["p1"]) & (pc.field("v") > 0)).to_arrow(),
    lambda t: t.insert_overwrite(rows([11], "p1", 3)),
]


@pytest.mark.parametrize(("kind", "metadata"), [(KINDS[0], 0), (KINDS[1], 0), (KINDS[1], 1)])
def test_other_partition_paths_are_not_listed(
    tmp_path: Path, listed: list[str], kind: str, metadata: int
) -> None:
    table = made(tmp_path / "t", METADATA[metadata], kind=kind)
    for call in CALLS:
        listed.clear()
        call(table)
        assert set(listed) <= {"p1"}
    assert table.read().count() == 16
    assert table.verify().findings == ()


@pytest.mark.parametrize(
    ("kind", "index", "metadata"),
    [
        (KINDS[0], "simple", 0),
        (KINDS[0], "global_simple", 1),
        (KINDS[1], "bucket", 0),
        (KINDS[1], "simple", 1),
    ],
)
def test_files_that_a_clean_takes_away_before_they_are_listed(
    tmp_path: Path, kind: str, index: str, metadata: int
) -> None:
    """A writer has looked at the timeline. Before it is on it, another one rewrites the file group, and a clean takes
    the file that the first one would have seen."""
    more = {"hoodie.bucket.index.num.buckets": "2"} if index == "bucket" else {}
    quiet = {"hoodie.clean.automatic": "false"}
    table = made(tmp_path / "t", {**METADATA[metadata], **more, **quiet}, index, kind)

    def others() -> None:
        other = hoodoo.open(table.path, quiet)
        for v in (2, 3):
            other.upsert(rows([10, 11], "p1", v))
            if kind == "MERGE_ON_READ":
                other.compact()
        assert other.clean(commits_retained=1).instant

    with before("request", others):
        table.upsert(rows([11, 97], "p1", 4))
    found = table.read(where=pc.field("part") == "p1").to_arrow().sort_by("id").to_pydict()
    assert found["id"] == [10, 11, 12, 13, 14, 97]
    assert found["v"] == [3, 4, 1, 1, 1, 4]
    assert table.verify().findings == ()


PARTS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", "b/c", "b", "d=e", "", None, "é %"]),
    "number": (pa.int64(), [0, 1, -1, 10, None]),
    "day": (pa.date32(), [date(2024, 1, 1), date(2024, 1, 2), date(1969, 12, 31), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "size": (pa.float64(), [0.5, 1.0, None]),
}


@pytest.mark.parametrize("seed", range(4))
def test_filters_of_partition_columns_lose_no_row(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    fields = draw.sample(sorted(PARTS), draw.choice([1, 1, 2]))
    hive, encode = draw.random() < 0.5, "text" in fields or draw.random() < 0.5
    schema = pa.schema([("id", pa.int64()), *((f, PARTS[f][0]) for f in fields)])
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", partition_by=fields, index="simple",
        options={
            "hoodie.datasource.write.hive_style_partitioning": str(hive).lower(),
            "hoodie.datasource.write.partitionpath.urlencode": str(encode).lower(),
            "hoodie.metadata.enable": draw.choice(["true", "false"]),
        },
    )  # fmt: skip
    instants = []
    for commit in range(3):
        # An empty text and a null have one path, which is told of no value.
        drawn = [[draw.choice(PARTS[f][1]) for f in fields] for _ in range(8)]
        columns = [range(8 * commit, 8 * commit + 8), *zip(*drawn, strict=True)]
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
        instants.append(table.upsert(pa.table(arrays, schema=schema)).instant)
    for _ in range(12):
        at = draw.choice([None, None, *instants])
        whole = table.read(as_of=at).to_arrow()
        where = _filter(draw, fields)
        found = table.read(where=where, as_of=at)
        expected = whole.filter(where).column("id").to_pylist()
        assert sorted(found.to_arrow().column("id").to_pylist()) == sorted(expected), str(where)
        assert found.plan.considered == len(table.read(as_of=at).plan.slices)


def _filter(draw: random.Random, fields: list[str], depth: int = 0) -> pc.Expression:
    if depth < 2 and draw.random() < 0.4:
        one, other = (_filter(draw, fields, depth + 1) for _ in range(2))
        return one & other if draw.random() < 0.5 else one | other
    name = draw.choice([*fields, "id"])
    here = pc.field(name)
    kind, known = PARTS.get(name, (pa.int64(), [3, 9, 17]))
    values = [pa.scalar(v, kind) for v in known if v is not None]
    value = draw.choice(values)
    made = [here == value, here != value, here.is_null(), here.isin(pa.array(values[:2], kind))]
    if name != "flag":
        made += [here < value, here >= value]
    return draw.choice(made)
