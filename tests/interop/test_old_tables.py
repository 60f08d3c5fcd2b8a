"""Tables of old releases: Hoodoo upserts their own keys, and the newest Spark Hudi reads and goes on.

The tables are those of ``tests/golden/data/old``; with Hoodoo alone they are tried there.
"""

from __future__ import annotations

import tarfile
import warnings
from functools import partial
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from both import Spark
from hoodoo.errors import HoodooWarning
from hoodoo_rows.testing.tables import dicts

HOME = Path(__file__).resolve().parents[1] / "golden/data/old"


def names() -> set[str]:
    """Of the tables in all archives."""
    found = set()
    for archive in HOME.glob("*.tar.xz"):
        with tarfile.open(archive) as tables:
            found |= {name.split("/")[0] for name in tables.getnames()}
    return found


def unpacked(name: str, tmp_path: Path) -> Path:
    (label,) = [a for a in HOME.glob("*.tar.xz") if name.startswith(a.name[:-7])] or [
        HOME / "1.2.0.tar.xz"
    ]
    with tarfile.open(label) as tables:
        mine = [member for member in tables if member.name.startswith(f"{name}/")]
        tables.extractall(tmp_path, mine, filter="data")
    return tmp_path / name


NAMES = sorted(names())
ENCODING = "hoodie.write.complex.keygen.new.encoding"
SCHEMA = pa.schema(
    [("id", pa.string()), ("k2", pa.int32()), ("name", pa.string()), ("ts", pa.int64()),
     ("region", pa.string()), ("day", pa.string())]
)  # fmt: skip

rows = partial(dicts, columns=SCHEMA.names, by=("id", "ts"))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_keys_again(spark: Spark, name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    bare = "0.15.0" in name or name.endswith("_bare")
    old = "_v9_" not in name and "upgraded" not in name
    undecided = "virtual1" in name and old
    table = hoodoo.open(str(path), {ENCODING: str(bare).lower()} if undecided else {})
    known = rows(table.read().to_arrow())
    assert len(known) == 5
    for row in known:
        row |= {"name": "again", "ts": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        table.upsert(pa.Table.from_pylist(known, SCHEMA))
        table.delete(pa.Table.from_pylist(known[:1], SCHEMA))
    known = known[1:]
    # Its reader takes virtual keys of one column for bare values, and its writers name column:value in
    # delete blocks. In version 9 it goes by the positions of rows, which all log files of a slice have.
    if name in ("0.14.0_mor_virtual1", "1.2.0_v6_mor_virtual1"):
        assert [
            r["id"] for r in rows(spark.read(path, {"hoodie.metadata.enable": "false"}))
        ] == sorted([r["id"] for r in known] + ["k5"])
        assert table.compact().instant
    assert rows(spark.read(path, {"hoodie.metadata.enable": "false"})) == known
    for row in known[:3]:
        row |= {"name": "spark", "ts": 6}
    options = {
        "hoodie.table.name": "old",
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": "SIMPLE",
        "hoodie.compact.inline": "false",
        "hoodie.write.complex.keygen.validation.enable": "false",
    }
    if old:
        options |= {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false",
                    ENCODING: str(bare).lower()}  # fmt: skip
    spark.write(path, pa.Table.from_pylist(known[:3], SCHEMA), "upsert", options)
    seen = rows(spark.read(path, {"hoodie.metadata.enable": "false"}))
    assert seen == rows(hoodoo.open(str(path)).read().to_arrow())
    if "upgraded" in name:  # Spark makes these keys in the other form: it doubles what it upserts
        assert len(seen) == 7
        return
    assert seen == known
    for row in known:
        row |= {"name": "end", "ts": 7}
    table.upsert(pa.Table.from_pylist(known, SCHEMA))
    assert rows(spark.read(path, {"hoodie.metadata.enable": "false"})) == known
