"""Small upserts and a read of many files across a network: an S3 server behind a line on which each request takes 30 ms
longer, beside deltalake on the same store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa

from tests.bench.measure import Report

DELAY = 30  # milliseconds
FILES, ROWS, UPSERTED = 100, 1000, 5
TESTS = Path(__file__).resolve().parents[2] / "plugins/cloud/tests"
KEYS = {"aws_access_key_id": "access", "aws_secret_access_key": "secret-secret"}
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int64())])


def run(report: Report, folder: str, runs: int) -> None:
    import boto3
    import deltalake

    sys.path.append(str(TESTS))
    from servers import moto

    place = Path(folder, "far")
    place.mkdir()
    with moto(place) as server, _line(server.port) as endpoint:
        boto3.client(
            "s3", endpoint_url=server.endpoint, region_name="us-east-1", **KEYS
        ).create_bucket(Bucket="bench")
        near = {**KEYS, "endpoint": server.endpoint, "region": "us-east-1"}
        far = {**near, "endpoint": endpoint}
        theirs = {
            "AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "secret-secret",
            "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
            "aws_conditional_put": "etag",
        }  # fmt: skip
        rows = _rows(0, ROWS)
        table = hoodoo.create(
            "s3://bench/hoodoo", SCHEMA, name="far", record_key="id", partition_by="part", options=far
        )  # fmt: skip
        table.upsert(rows)
        deltalake.write_deltalake(
            "s3://bench/delta", rows, partition_by=["part"], storage_options=theirs
        )
        delta = deltalake.DeltaTable("s3://bench/delta", storage_options=theirs)

        def merge(run: int) -> None:
            matched = "t.id = s.id and t.part = s.part"
            merger: Any = delta.merge(_rows(run + 1, UPSERTED), matched, "s", "t")
            merger.when_matched_update_all().when_not_matched_insert_all().execute()

        merge(-1)
        table.upsert(_rows(0, UPSERTED))
        report.in_turn(
            {
                f"far ({DELAY} ms): merge of {UPSERTED} rows, deltalake": merge,
                f"far ({DELAY} ms): upsert of {UPSERTED} rows, hoodoo": lambda run: table.upsert(
                    _rows(run + 1, UPSERTED)
                ),
            },
            max(5, runs),
            goal=1.0,
        )
        _many_files(report, near, far, theirs, max(5, runs))


def _many_files(
    report: Report, near: dict[str, str], far: dict[str, str], theirs: dict[str, str], runs: int
) -> None:
    import deltalake

    rows = pa.concat_tables(_rows(0, ROWS // 10, f"p{n:03}", n * ROWS) for n in range(FILES))
    uri = "s3://bench/hoodoo-files"
    table = hoodoo.create(
        uri, SCHEMA, name="far", record_key="id", partition_by="part", options=near
    )
    table.upsert(rows)
    deltalake.write_deltalake(
        "s3://bench/delta-files", rows, partition_by=["part"], storage_options=theirs
    )

    def delta(run: int) -> None:
        found = deltalake.DeltaTable("s3://bench/delta-files", storage_options=theirs)
        assert found.to_pyarrow_table().num_rows == rows.num_rows

    def ours(run: int) -> None:
        assert hoodoo.open(uri, far).read().to_arrow().num_rows == rows.num_rows

    report.in_turn(
        {
            f"far ({DELAY} ms): open and read {FILES} files, deltalake": delta,
            f"far ({DELAY} ms): open and read {FILES} files, hoodoo": ours,
        },
        runs,
        goal=1.0,
    )


def _rows(n: int, count: int, part: str = "all", first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table([list(ids), [part] * count, [n] * count], schema=SCHEMA)


@contextmanager
def _line(port: int) -> Iterator[str]:
    command = [sys.executable, str(TESTS / "shaping.py"), str(port), str(DELAY)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.wait(30)
