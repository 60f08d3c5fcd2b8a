"""A program that reads with DuckDB: one query a line in, as JSON; the rows go into an Arrow file.

DuckDB's extensions for Iceberg and Delta are on PyPI for one version of DuckDB, which need not be
the one that the tests run with: the program runs in an environment of its own
(``HOODOO_DUCKDB_PYTHON``), made by

    uv venv E; uv pip install --python E duckdb==1.5.5 duckdb-extension-avro==1.5.5 \\
        duckdb-extension-iceberg==1.5.5 duckdb-extension-delta==1.5.5 pyarrow pytz
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import duckdb
import pyarrow as pa


def main() -> None:
    connection = duckdb.connect(config={"threads": 1})
    for name in ("avro", "iceberg", "delta"):
        package = importlib.import_module(f"duckdb_extension_{name}")
        folder = Path(str(package.__file__)).parent
        connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE whole AS FROM {asked['source']}")
            each = ["FROM whole"]
            for where in asked["where"]:
                each += [f"FROM {asked['source']} WHERE {where}", f"FROM whole WHERE {where}"]
            for number, query in enumerate(each):
                found = connection.execute(query).arrow()
                found = found.read_all() if hasattr(found, "read_all") else found
                target = f"{asked['target']}.{number}"
                with pa.OSFile(target, "wb") as file, pa.ipc.new_file(file, found.schema) as out:
                    out.write_table(found)
            answer = ""
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
            if isinstance(error, UnicodeDecodeError):  # of a message of DuckDB's
                answer += f" {error.object!r}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
