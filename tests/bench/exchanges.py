"""What crosses each exchange of each kind of write, in bytes per row: the figures of docs/data-flow.md.

    python -m tests.bench.exchanges [--scale 0.1]

TPC-H lineitem on the local engine, whose messages are not compressed. Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.hookspecs.engine import Counted
from hoodoo.kernel.resolve import resolve
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.index.simple import SimpleIndex

from tests.bench import data

SERIALIZERS = ("arrow", "avro", "pickle")


def made(path: str, schema: pa.Schema, **more: Any) -> Any:
    return hoodoo.create(path, schema, name="lineitem", record_key=data.KEY, **more)


def counted(path: str, write: Callable[[Any], Any], **more: Any) -> MeteredEngine:
    """The exchanges of one write on the table at ``path``."""
    engine = MeteredEngine(LocalEngine(2))
    write(hoodoo.open(path, engine=engine, **more))
    return engine


def line(name: str, metered: MeteredEngine) -> str:
    if not metered.exchanges:
        return f"| {name} | none | | | |"
    lines = []
    for exchange in metered.exchanges:
        found = exchange.read()
        kind = exchange.schema.field("row_data").type
        what = "index records" if pa.types.is_null(kind) else "rows"
        each = found.bytes / max(1, found.rows)
        lines.append(f"| {name} | {what} | {found.rows:,} | {found.bytes:,} | {each:.0f} |")
    return "\n".join(lines)


def pipelines(folder: str, table: pa.Table) -> None:
    changed = data.change(table, 0.1, 1)
    schema = table.schema
    print("| write | what crosses | rows | bytes | bytes per row |\n|---|---|---|---|---|")
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        path = f"{folder}/{kind}"
        made(path, schema, table_type=kind)
        print(line(f"{kind}: bulk_insert", counted(path, lambda t: t.bulk_insert(table))))
        print(line(f"{kind}: upsert of 10 %", counted(path, lambda t: t.upsert(changed))))
        print(
            line(
                f"{kind}: upsert, keys exchanged",
                counted(path, lambda t: t.upsert(changed), index=SimpleIndex(side_bytes=0)),
            )
        )
        print(line(f"{kind}: append", counted(path, lambda t: t.append(changed))))
        print(line(f"{kind}: delete", counted(path, lambda t: t.delete(changed.select(data.KEY)))))
        if kind == "MERGE_ON_READ":
            print(line(f"{kind}: compaction", counted(path, lambda t: t.compact())))
    path = f"{folder}/global"
    made(path, schema, index="global_simple").bulk_insert(table)
    print(line("global index: upsert of 10 %", counted(path, lambda t: t.upsert(changed))))


def serializers(folder: str, table: pa.Table) -> None:
    """RFC-84's comparison in small: the same upsert with each serializer."""
    changed = data.change(table, 0.1, 2)
    print("\n| serializer | bytes per row | serialize, us per row | deserialize, us per row |")
    print("|---|---|---|---|")
    for name in SERIALIZERS:
        path = f"{folder}/{name}"
        made(path, table.schema).bulk_insert(table)
        engine = MeteredEngine(LocalEngine(2), resolve("serializer", name).instance)
        hoodoo.open(path, engine=engine).upsert(changed)
        print(per_row(name, engine.total()))


def per_row(name: str, found: Counted) -> str:
    rows = max(1, found.rows)
    spent = (found.serialize_seconds, found.deserialize_seconds)
    times = " | ".join(f"{seconds / rows * 1e6:.2f}" for seconds in spent)
    return f"| `{name}` | {found.bytes / rows:.0f} | {times} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    table = data.plain(data.lineitem(parser.parse_args().scale))
    folder = tempfile.mkdtemp(prefix="hoodoo-bench-")
    try:
        pipelines(folder, table)
        serializers(folder, table)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
