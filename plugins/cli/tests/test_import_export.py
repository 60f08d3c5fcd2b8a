"""Files into tables, and rows of tables into files."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, DataError, StorageError
from hoodoo_cli.toolkit.data_files import KINDS, kind_of, open_data
from hoodoo_cli.toolkit.written_files import write_rows
from hoodoo_standard.storage.local import LocalStorage
from hypothesis import given
from hypothesis import strategies as st
from table_makers import KINDS as TABLES
from table_makers import SCHEMA, Run, create, rows, said, trips

pytestmark = pytest.mark.sampled(4)

WIDE = pa.schema(
    [
        ("id", pa.int64()), ("d", pa.decimal128(9, 2)), ("b", pa.binary()), ("t", pa.timestamp("us", "UTC")),
        ("day", pa.date32()), ("ok", pa.bool_()), ("text", pa.string()), ("m", pa.map_(pa.string(), pa.int64())),
        ("l", pa.list_(pa.timestamp("us", "UTC"))), ("s", pa.struct([("x", pa.int64()), ("y", pa.string())])),
    ]
)  # fmt: skip
VALUES = st.fixed_dictionaries(
    {
        "id": st.integers(0, 99),
        "d": st.none() | st.decimals(-1000, 1000, places=2),
        "b": st.none() | st.binary(max_size=4),
        "t": st.none() | st.datetimes().filter(lambda t: 1900 < t.year < 2200),
        "day": st.none() | st.dates(),
        "ok": st.none() | st.booleans(),
        "text": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6),
        "m": st.none() | st.lists(st.tuples(st.text("ab", min_size=1, max_size=2), st.integers(0, 9)), max_size=2, unique_by=lambda p: p[0]),
        "l": st.none() | st.lists(st.datetimes().filter(lambda t: 1900 < t.year < 2200), max_size=2),
        "s": st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": st.none() | st.text("a,\"'", max_size=3)}),
    }
)  # fmt: skip


# --- files ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read(
    tmp_path_factory: Any, kind: str, found: list[dict[str, Any]]
) -> None:
    table = pa.Table.from_pylist(found, WIDE)
    file = str(tmp_path_factory.mktemp("data") / f"rows.{kind}")
    assert write_rows(file, WIDE, table.to_batches(), {}) == len(found)
    data = open_data(file, {}, wanted=WIDE)
    read = pa.Table.from_batches(list(data.batches()), data.schema).select(WIDE.names)
    assert read.cast(WIDE).to_pylist() == table.to_pylist()


def test_line_ends_of_unicode_in_json_lines(tmp_path: Path) -> None:
    table = pa.table({"a": ["x\u2028y\x85z\x0b\x0c\r\n\u2029", ""]})
    file = str(tmp_path / "a.jsonl")
    assert write_rows(file, table.schema, table.to_batches(), {}) == 2
    assert pa.Table.from_batches(open_data(file, {}).batches()) == table


def test_types_of_csv_that_change_no_value(tmp_path: Path) -> None:
    """Zeros at the start, integers of more than 64 bits: what Arrow would change. Nothing known: text."""
    file = tmp_path / "a.csv"
    file.write_text(
        "id,zip,big,small,point,sci,none,day,ok\n"
        "0,01234,12345678901234567890,9223372036854775807,0.5,1e3,,2020-01-02,true\n"
        "-7,9,1,-9223372036854775808,-0.25,NaN,,,false\n"
    )
    data = open_data(str(file), {})
    kinds = [
        "int64",
        "string",
        "string",
        "int64",
        "double",
        "double",
        "string",
        "date32[day]",
        "bool",
    ]
    assert [str(kind) for kind in data.schema.types] == kinds
    first, second = pa.Table.from_batches(data.batches()).to_pylist()
    assert (first["zip"], first["big"], first["none"]) == ("01234", "12345678901234567890", None)
    assert (second["id"], second["small"], second["point"]) == (-7, -(2**63), -0.25)
    known = open_data(str(file), {}, wanted=pa.schema([("zip", pa.int64()), ("id", pa.string())]))
    assert known.schema.field("zip").type == pa.int64()
    assert known.schema.field("id").type == pa.string()


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()], ids=str)
def test_nulls_of_one_column(tmp_path: Path, kind: pa.DataType) -> None:
    """In CSV they are empty lines."""
    for values in ([None, 1, None, 2, None], [None], [1, None]):
        table = pa.table({"a": pa.array(values, pa.int64()).cast(kind)})
        write_rows(str(tmp_path / "a.csv"), table.schema, table.to_batches(), {}, overwrite=True)
        for wanted in (table.schema, None):
            data = open_data(str(tmp_path / "a.csv"), {}, wanted=wanted)
            read = pa.Table.from_batches(data.batches(), data.schema)
            assert read["a"].is_null().to_pylist() == [value is None for value in values]
            assert wanted is None or read == table


def test_empty_lines_of_more_columns_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n\n1,2\n\n3,4\n\n")
    read = pa.Table.from_batches(open_data(str(tmp_path / "a.csv"), {}).batches())
    assert read.to_pydict() == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_without_any_value(run: Run, tmp_path: Path, suffix: str) -> None:
    """They have no type in the file: they get that of the table, or become text."""
    shapes = {
        "n": pa.nulls(2),
        "l": pa.array([[None], []]),
        "s": pa.array([{"x": None, "y": 1}, None]),
    }
    batch = pa.table({"id": [1, 2], **shapes})
    file = tmp_path / f"a.{suffix}"
    write_rows(str(file), batch.schema, batch.to_batches(), {})
    assert run("import", tmp_path / "new", file, "--record-key", "id")[0] == 0
    new = hoodoo.open(str(tmp_path / "new"))
    assert new.schema.field("n").type == pa.string()
    assert new.read(["id", "n", "l", "s"]).to_arrow().sort_by("id").to_pydict() == batch.to_pydict()
    typed = pa.schema([
        ("id", pa.int64()), ("n", pa.date32()), ("l", pa.list_(pa.int64())),
        ("s", pa.struct([("x", pa.float64()), ("y", pa.int64())])),
    ])  # fmt: skip
    known = hoodoo.create(str(tmp_path / "known"), typed, record_key="id")
    assert run("import", known.path, file)[0] == 0
    assert hoodoo.open(known.path).read(typed.names).to_arrow().schema.types == typed.types


def test_types_of_a_long_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guess looks at the start only, which may end anywhere in a row; all rows are read, once."""
    text = "id,a\n" + "".join(f'0{i},"b\n{i}"\n' for i in range(40))
    (tmp_path / "a.csv").write_text(text)
    for block in range(30, 60):
        monkeypatch.setattr("hoodoo_cli.toolkit.text_files._BLOCK", block)
        data = open_data(str(tmp_path / "a.csv"), {})
        read = pa.Table.from_batches(data.batches()).to_pylist()
        assert read == [{"id": f"0{i}", "a": f"b\n{i}"} for i in range(40)]


def test_text_of_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,a\n1,caf\xe9\n")
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "caf\xe9"}\n')
    for name in ("a.csv", "a.jsonl"):
        with pytest.raises(DataError, match="(?i)utf-8"):
            open_data(str(tmp_path / name), {})
    (tmp_path / "b.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n')
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfa\r\n1\r\n2\r\n")
    for name in ("b.csv", "b.jsonl"):
        read = pa.Table.from_batches(open_data(str(tmp_path / name), {}).batches())
        assert read.to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (pa.int64(), "1.5", "not whole"),
        (pa.timestamp("us", "UTC"), '"2020-01-01T00:00:00"', "no time zone"),
        (pa.timestamp("us", "UTC"), "1700000000", "ISO 8601"),
        (pa.date32(), "5", "ISO 8601"),
        (pa.list_(pa.string()), '"abc"', "no list"),
    ],
)
def test_values_of_json_that_would_change(
    tmp_path: Path, kind: pa.DataType, text: str, why: str
) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"a": {text}}}\n')
    with pytest.raises(DataError, match=why):
        list(open_data(str(tmp_path / "a.jsonl"), {}, wanted=pa.schema([("a", kind)])).batches())


def test_values_of_json_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": {"b": "c\\nd"}}\n{"a": true}\n{"a": 1.5}\n')
    data = open_data(str(tmp_path / "a.jsonl"), {}, wanted=pa.schema([("a", pa.string())]))
    assert next(data.batches()).to_pydict() == {"a": ['{"b": "c\\nd"}', "true", "1.5"]}


def test_numbers_of_json_keep_their_digits(tmp_path: Path) -> None:
    schema = pa.schema([("d", pa.decimal128(30, 10)), ("i", pa.int64()), ("f", pa.float64())])
    (tmp_path / "a.jsonl").write_text('{"d": 12345678901234567.8912345, "i": 4.0, "f": 0.1}\n')
    read = next(open_data(str(tmp_path / "a.jsonl"), {}, wanted=schema).batches())
    assert str(read["d"][0]) == "12345678901234567.8912345000"
    assert read.to_pylist()[0]["i"] == 4 and read.to_pylist()[0]["f"] == 0.1


def test_naive_times_of_json(tmp_path: Path) -> None:
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    (tmp_path / "a.jsonl").write_text('{"t": "2020-01-01T00:00:00"}\n')
    options = {"hoodoo.naive.timestamps": "UTC"}
    read = next(open_data(str(tmp_path / "a.jsonl"), options, wanted=schema).batches())
    assert read.to_pylist()[0]["t"].isoformat() == "2020-01-01T00:00:00+00:00"


def test_nothing_known_in_nested_values(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": [], "b": {"c": null, "d": [null]}}\n')
    schema = open_data(str(tmp_path / "a.jsonl"), {}).schema
    inner = pa.struct([("c", pa.string()), ("d", pa.list_(pa.string()))])
    assert schema.types == [pa.list_(pa.string()), inner]


@pytest.mark.parametrize("delimiter", [";;", "", "\n", '"', "\u2013"])
def test_delimiters(run: Run, tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "a.csv").write_text("id\tx\n1\ta,b\n")
    where = ("import", tmp_path / "t", tmp_path / "a.csv", "-k", "id", "--delimiter")
    code, _, err = run(*where, delimiter)
    assert code == 2 and "one character" in err
    assert run(*where, "\\t")[0] == 0


def test_formats_by_name() -> None:
    names = (
        "a.parquet",
        "a.CSV",
        "a.csv.gz",
        "a.json",
        "a.ndjson.zst",
        "b/a.arrow",
        "s3://x/y.feather",
    )
    kinds = ["parquet", "csv", "csv", "jsonl", "jsonl", "arrow", "arrow"]
    assert [kind_of(name) for name in names] == kinds
    assert kind_of("-", "csv") == "csv"
    with pytest.raises(ConfigError, match="compressed as a whole"):
        kind_of("a.parquet.gz")
    for name, given_ in (("a.txt", None), ("a", None), ("-", None), ("a.csv", "xml")):
        with pytest.raises(ConfigError, match="format"):
            kind_of(name, given_)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"id": 1}\n{"id": "x"}\n'),
        ("a.jsonl", '{"id": 1}\n[1]\n'),
        ("a.jsonl", "{"),
        ("a.jsonl", '[{"id": 1}]'),
        ("a.csv", "id,city\n1\n"),
        ("a.csv", "id\nx\n"),
        ("a.csv", ""),
        ("a.parquet", "PAR1 no"),
        ("a.arrow", "nothing at all"),
    ],
)
def test_damaged_files_are_one_sentence(run: Run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    table = create(tmp_path / "trips", "cow9")
    code, out, err = run("import", table.path, tmp_path / name)
    assert (code, out) == (2, "") and "Traceback" not in err and "Fix:" in err
    assert table.read().count() == 0


def test_nested_values_that_are_no_json(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    wanted = pa.schema([("id", pa.int64()), ("l", pa.list_(pa.int64()))])
    for value, says in (("[1,", "which is no JSON"), ("[" * 100_000, "which is no JSON"), ("5", "has a value that is no list")):  # fmt: skip
        file.write_text(f'id,l\n1,"[1]"\n2,"{value}"\n')
        with pytest.raises(DataError, match=says):
            list(open_data(str(file), {}, None, wanted).batches())
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(DataError, match="is no JSON"):
        open_data(str(lines), {})


def test_late_columns_of_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    many = '{"id": 1, "text": "' + "x" * 1000 + '"}\n'
    file.write_text(many * 9000 + '{"id": 1, "late": 2}\n')
    with pytest.raises(DataError, match="late"):
        list(open_data(str(file), {}).batches())


# --- create ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_create(run: Run, tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    found = said(
        run(
            "create", path, "--schema", "id bigint, city string, ts bigint", "--record-key", "id", "--partition-by", "city",
            "--ordering", "ts", "--type", kind, "--version", version, "--name", "rides", "--json",
            "-o", "hoodie.datasource.write.hive_style_partitioning=true",
        )
    )  # fmt: skip
    assert (found["name"], found["version"]) == ("rides", version)
    table = hoodoo.open(str(path))
    assert table.config.hive_style and table.config.ordering_fields == ("ts",)
    assert table.config.table_type == {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
    code, _, err = run("create", path, "--schema", "id bigint")
    assert code == 2 and "Traceback" not in err


def test_create_from_files(run: Run, tmp_path: Path) -> None:
    pq.write_table(rows(range(3), 1), tmp_path / "a.parquet")
    assert (
        run("create", tmp_path / "t", "--from", tmp_path / "a.parquet", "--record-key", "id")[0]
        == 0
    )
    assert hoodoo.open(str(tmp_path / "t")).schema == SCHEMA
    _, avro, _ = run("schema", tmp_path / "t", "--avro")
    (tmp_path / "a.avsc").write_text(avro)
    assert run("create", tmp_path / "u", "--schema", tmp_path / "a.avsc")[0] == 0
    assert hoodoo.open(str(tmp_path / "u")).schema == SCHEMA
    code, _, err = run("create", tmp_path / "v")
    assert code == 2 and "--schema" in err and not (tmp_path / "v").exists()


def test_an_avro_schema_that_is_no_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_bytes(b"\xff\x00")
    code, _, err = run("create", tmp_path / "t", "--schema", tmp_path / "a.avsc")
    assert code == 2 and "can't be read" in err and not (tmp_path / "t").exists()


# --- import ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", KINDS)
def test_import_makes_the_table(run: Run, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.{suffix}"
    write_rows(str(file), SCHEMA, rows(range(5), 1).to_batches(), {})
    path = tmp_path / "trips"
    code, _, err = run("import", path, file)
    assert code == 2 and "--record-key" in err and not path.exists()
    found = said(run("import", path, file, "--record-key", "id", "--ordering", "ts", "--json"))
    assert (found["operation"], found["inserted"]) == ("upsert", 5)
    write_rows(str(file), SCHEMA, rows(range(4, 6), 2).to_batches(), {}, overwrite=True)
    code, out, _ = run("import", path, file)
    assert code == 0 and out.endswith("1 inserted, 1 updated.\n")
    assert sorted(hoodoo.open(str(path)).read(["id", "ts"]).to_arrow()["ts"].to_pylist()) == [
        1,
        1,
        1,
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "append"])
def test_import_into_each_table(run: Run, tmp_path: Path, kind: str, operation: str) -> None:
    table = create(tmp_path / "trips", kind)
    (tmp_path / "a.csv").write_text("id,city,fare,ts\n1,oslo,,1\n2,rome,2.5,1\n")
    (tmp_path / "b.csv").write_text("ts,id,city,fare\n1,3,oslo,1\n")
    found = said(
        run(
            "import",
            table.path,
            tmp_path / "a.csv",
            tmp_path / "b.csv",
            "--operation",
            operation,
            "--json",
        )
    )
    assert found["operation"] in (operation, "bulk_insert", "insert") and found["inserted"] == 3
    assert len(table.timeline().writes()) == 1, "all files are one commit"
    assert table.read(["id", "fare"], where="id = 1").to_pylist() == [{"id": 1, "fare": None}]


def test_import_without_a_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1, "b": null}\n{"a": 2, "b": {"x": "y"}}\n')
    assert run("import", tmp_path / "t", tmp_path / "a.jsonl", "--generated-keys")[0] == 0
    assert run("import", tmp_path / "t", tmp_path / "a.jsonl")[0] == 0
    assert run("count", tmp_path / "t")[1] == "4\n"


def test_import_from_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path / "trips", "cow9")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id;city;ts\n7;oslo;1\n")))
    code, _, err = run("import", table.path, "-", "--format", "csv", "--delimiter", ";")
    assert (code, err) == (0, "")
    assert table.read(["id"]).to_pylist() == [{"id": 7}]


def test_import_of_compressed_files(run: Run, tmp_path: Path) -> None:
    table = create(tmp_path / "trips", "cow9")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,city,ts\n7,oslo,1\n"))
    assert run("import", table.path, tmp_path / "a.csv.gz")[0] == 0
    assert run("export", table.path, tmp_path / "b.jsonl.zst")[0] == 0
    data = open_data(str(tmp_path / "b.jsonl.zst"), {}, wanted=SCHEMA)
    assert sum(batch.num_rows for batch in data.batches()) == 1


def test_files_that_do_not_fit_together(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,city\n1,oslo\n")
    (tmp_path / "b.csv").write_text("id,town\n1,oslo\n")
    (tmp_path / "c.csv").write_text("id,city\n1,5\n")
    code, _, err = run(
        "import", tmp_path / "t", tmp_path / "a.csv", tmp_path / "b.csv", "--record-key", "id"
    )
    assert code == 2 and "city, town" in err
    code, _, err = run(
        "import", tmp_path / "t", tmp_path / "a.csv", tmp_path / "c.csv", "--record-key", "id"
    )
    assert code == 2 and "city" in err
    code, _, err = run("import", tmp_path / "t", tmp_path / "nothing.csv", "--record-key", "id")
    assert code == 2 and "does not exist" in err
    code, _, err = run("import", tmp_path / "t", tmp_path / "a.csv", "--operation", "merge")
    assert code == 2 and "upsert, insert" in err
    assert not (tmp_path / "t").exists()


# --- export ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("suffix", KINDS)
def test_export(run: Run, tmp_path: Path, kind: str, suffix: str) -> None:
    table, file = trips(tmp_path / "trips", kind), tmp_path / f"out.{suffix}"
    found = said(run("export", table.path, file, "--json"))
    assert found["rows"] == 9 and found["file"] == str(file)
    data = open_data(str(file), {}, wanted=SCHEMA)
    read = pa.Table.from_batches(list(data.batches()), data.schema)
    assert read.sort_by("id").to_pylist() == table.read().to_arrow().sort_by("id").to_pylist()
    code, _, err = run("export", table.path, file)
    assert code == 2 and "--overwrite" in err
    _, out, _ = run(
        "export", table.path, file, "--overwrite", "--where", "id = 1", "--columns", "id"
    )
    assert out.replace("\n", "").startswith("1 row in")
    assert [path.name for path in tmp_path.iterdir() if ".part" in path.name] == []


def test_export_into_what_is_no_file(run: Run, tmp_path: Path) -> None:
    """A pipe or a device is written to, and not replaced."""
    table, pipe = trips(tmp_path / "trips", "cow9"), tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert run("export", table.path, pipe, "--overwrite", "--columns", "id")[0] == 0
        assert reader.communicate()[0].count("\n") == 10
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk(run: Run, tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow9")
    for suffix in KINDS:
        code, _, err = run("export", table.path, "/dev/full", "--format", suffix)
        assert code == 2 and "No space left" in err and "Traceback" not in err


@pytest.mark.parametrize("kind", ["cow6", "mor9"])
def test_export_of_the_past(run: Run, tmp_path: Path, kind: str) -> None:
    table, file = trips(tmp_path / "trips", kind), tmp_path / "out.csv"
    first, second, _ = (instant.requested for instant in table.timeline().writes())
    assert said(run("export", table.path, file, "--as-of", first, "--json"))["rows"] == 10
    assert (
        said(run("export", table.path, file, "--since", first, "--overwrite", "--json"))["rows"]
        == 5
    )
    assert (
        said(run("export", table.path, file, "--since", second, "--overwrite", "--json"))["rows"]
        == 0
    )
    assert file.read_text() == '"id","city","fare","ts"\n'
    for wrong in (("--until", second), ("--since", first, "--as-of", second)):
        code, _, err = run("export", table.path, file, *wrong)
        assert code == 2 and "Fix:" in err


def test_export_to_standard_output(tmp_path: Path) -> None:
    trips(tmp_path / "trips", "cow9")
    program = [
        sys.executable,
        "-c",
        "from hoodoo_cli.commandline import main; main()",
        "export",
        str(tmp_path / "trips"),
        "-",
    ]
    done = subprocess.run(
        [*program, "--format", "jsonl"], capture_output=True, text=True, check=True
    )
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 9
    done = subprocess.run([*program, "--format", "parquet"], capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).num_rows == 9


def test_a_failed_export_leaves_the_file_as_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, file = trips(tmp_path / "trips", "cow9"), tmp_path / "out.csv"
    run("export", table.path, file)
    before = file.read_bytes()
    for path in Path(tmp_path / "trips").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:100])
    code, _, err = run("export", table.path, file, "--overwrite")
    assert code == 2 and "Traceback" not in err
    assert file.read_bytes() == before and len(list(tmp_path.iterdir())) == 2


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.trial
def test_memory_does_not_grow_with_the_table(tmp_path: Path, suffix: str) -> None:
    code = (
        "import sys, pyarrow as pa, hoodoo\n"
        "from hoodoo_cli.commandline import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(pa.default_memory_pool().max_memory() >> 10)"
    )
    peaks = []
    for files in (6, 18):  # several row groups each
        table = hoodoo.create(str(tmp_path / f"t{files}"), SCHEMA, name="t", partition_by="city")
        for at in range(files):
            ids = pa.array(range(at * 60_000, (at + 1) * 60_000))
            count = len(ids)
            table.append(
                pa.table([ids, ["oslo"] * count, [0.5] * count, [1] * count], schema=SCHEMA)
            )
        done = subprocess.run(
            [sys.executable, "-c", code, "export", table.path, str(tmp_path / f"{files}.{suffix}")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(done.stdout.splitlines()[-1]))
    assert peaks[1] < 1.5 * peaks[0] + 4096, peaks


# --- stores ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", KINDS)
def test_files_in_a_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """What is not on a disk of this machine is handed over to the store, whole."""
    monkeypatch.setattr("hoodoo_cli.toolkit.written_files.is_local", lambda path: False)
    table, file = trips(tmp_path / "trips", "cow9"), tmp_path / f"out.{suffix}"
    assert said(run("export", table.path, file, "--json"))["rows"] == 9
    code, _, err = run("export", table.path, file)
    assert code == 2 and "exists" in err
    assert run("export", table.path, file, "--overwrite", "--where", "id < 3")[0] == 0
    assert run("import", tmp_path / "other", file, "--record-key", "id")[0] == 0
    assert run("count", tmp_path / "other")[1] == "3\n"


@pytest.mark.parametrize("large", [False, True], ids=["in memory", "beside"])
def test_a_failure_loses_no_file_of_a_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """The store fails at any operation that changes it: the old rows or the new ones are there, and the last line says
    where, if they are under another name."""
    table, file = trips(tmp_path / "trips", "cow9"), tmp_path / "files" / "out.parquet"
    file.parent.mkdir()
    monkeypatch.setattr("hoodoo_cli.toolkit.written_files.is_local", lambda path: False)
    monkeypatch.setattr("hoodoo_cli.toolkit.written_files._IN_MEMORY", 0 if large else 1 << 20)
    left = [0]

    def failing(name: str) -> Any:
        honest = getattr(LocalStorage, name)

        def one(*arguments: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                raise StorageError("the store", "is away.", "Try again.")
            return honest(*arguments)

        return one

    for name in ("put", "put_if_absent", "put_file_if_absent", "delete"):
        monkeypatch.setattr(LocalStorage, name, failing(name))
    for operation in range(1, 6):
        for old in file.parent.glob("out*"):
            old.unlink()
        left[0] = 0
        assert run("export", table.path, file)[0] == 0
        left[0] = operation
        code, _, err = run("export", table.path, file, "--overwrite", "--where", "id < 3")
        left[0] = 0
        found = {path.name: pq.read_table(path).num_rows for path in file.parent.glob("out*")}
        if not code:
            assert found == {"out.parquet": 3}
            break
        assert found.get("out.parquet") in (3, 9) or any(
            rows == 3 and name in err for name, rows in found.items()
        ), (found, err)
    assert operation == (5 if large else 2)


def test_files_without_rows(run: Run, tmp_path: Path) -> None:
    table = create(tmp_path / "trips", "cow9")
    (tmp_path / "a.jsonl").write_text("")
    (tmp_path / "a.csv").write_text("id,city,ts\n")
    for name in ("a.jsonl", "a.csv"):
        code, out, err = run("import", table.path, tmp_path / name)
        assert (code, err) == (0, "") and out.endswith(" 0 inserted, 0 updated.\n")
    code, out, err = run("import", tmp_path / "other", tmp_path / "a.jsonl", "--record-key", "id")
    assert (code, out) == (2, "") and "Traceback" not in err


def test_no_table_is_made_around_the_files_that_it_imports(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir()
    pq.write_table(rows(range(3), 1), home / "a.parquet")
    code, _out, err = run("import", home, home / "a.parquet", "--record-key", "id")
    assert code != 0
    assert "readers of the files there would see" in err
    assert sorted(home.iterdir()) == [home / "a.parquet"]


def test_no_export_goes_into_the_folder_of_the_table(run: Run, tmp_path: Path) -> None:
    table = create(tmp_path / "t", "cow9")
    code, _out, err = run("export", table.path, tmp_path / "t" / "out.parquet")
    assert code != 0
    assert "would lie in the table" in err
    assert not (tmp_path / "t" / "out.parquet").exists()
