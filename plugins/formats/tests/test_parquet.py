"""The parquet format: the contract, and what Hudi's readers look for in a footer."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, CorruptTableError, StorageError, UnsupportedTableError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY, with_meta
from hoodoo.model.schema.avro import arrow_schema, avro_text
from hoodoo.testing.contracts.file_format import FileFormatContract
from hoodoo.testing.contracts.file_format_rows import FLAT, NESTED, rows
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.writer import ParquetWriter, WriterOptions
from hoodoo_standard.storage.local import LocalStorage
from key_filters import KeyFilter

pytestmark = pytest.mark.sampled(3)

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*.zip"))
STORED = with_meta(pa.schema([*FLAT, *NESTED]))


class TestParquet(FileFormatContract):
    @pytest.fixture
    def file_format(self) -> BaseFileFormat:
        return ParquetFormat.from_settings(Settings())


class TestParquetOfSeveralThreads(FileFormatContract):
    @pytest.fixture
    def file_format(self) -> BaseFileFormat:
        return ParquetFormat.from_settings(Settings()).with_threads(3)


def written(tmp_path: Path, table: pa.Table, **options: str) -> pq.ParquetFile:
    settings = Settings(
        TableConfig({"hoodie.table.name": "trips"}),
        {key.replace("__", "."): value for key, value in options.items()},
    )
    local = str(tmp_path / "file.parquet")
    writer = ParquetFormat.from_settings(settings).writer(local, table.schema)
    writer.write(table)
    writer.close()
    return pq.ParquetFile(local)


@pytest.mark.parametrize("bytes_", ["1", "6", "7", "64", "1024"])
def test_pages_of_a_few_bytes_lose_no_value(tmp_path: Path, bytes_: str) -> None:
    """Of a row group of one row, whose list, empty or null, is one page."""
    kind = pa.list_(pa.int64())
    for values in (None, [], [7], [1, 2]):
        table = pa.table({"_hoodie_record_key": ["k"], "list": pa.array([values], kind)})
        stored = written(tmp_path, table, hoodie__parquet__page__size=bytes_).read()
        assert stored["list"].to_pylist() == [values]


def test_footer_as_hudi_writes_it(tmp_path: Path) -> None:
    footer = written(tmp_path, rows(STORED, 100)).metadata.metadata
    assert footer[b"hoodie_min_record_key"] == b"key-00000000"
    assert footer[b"hoodie_max_record_key"] == b"key-00000099"
    assert footer[b"hoodie_bloom_filter_type_code"] == b"DYNAMIC_V0"
    assert footer[b"writer.model.name"] == b"avro"
    assert footer[b"parquet.avro.schema"].decode() == avro_text(STORED, "trips")
    assert b"ARROW:schema" not in footer
    asked = KeyFilter.from_footer({k.decode(): v.decode() for k, v in footer.items()})
    found = asked.might_contain(pa.array(["key-00000042", "key-00000042x", "a", "z"]))
    assert found.to_pylist() == [True, False, False, False]


def test_every_column_is_optional_and_standard(tmp_path: Path) -> None:
    fields = [f.with_nullable(False) if f.name == "small" else f for f in STORED]
    table = rows(STORED, 8).take([0, 1, 3, 4]).cast(pa.schema(fields))
    schema = written(tmp_path, table).schema
    text = str(schema)
    assert "required" not in text.replace("required group field_id=-1 schema", "").replace(
        "required binary field_id=-1 key", ""
    )
    assert "repeated group field_id=-1 list" in text
    assert "optional group field_id=-1 element" in text
    assert (
        "optional fixed_len_byte_array(7) field_id=-1 price (Decimal(precision=15, scale=2))"
        in text
    )
    assert "optional int64 field_id=-1 moment (Timestamp(isAdjustedToUTC=true" in text


def test_no_rows_has_a_filter_and_no_range(tmp_path: Path) -> None:
    footer = written(tmp_path, rows(STORED, 0)).metadata.metadata
    assert b"hoodie_min_record_key" not in footer
    assert b"hoodie_max_record_key" not in footer
    assert KeyFilter.from_footer({k.decode(): v.decode() for k, v in footer.items()}).might_contain(
        pa.array(["a"])
    ).to_pylist() == [False]


@pytest.mark.parametrize("stored", [True, False])
def test_virtual_keys_leave_nothing_in_the_footer(tmp_path: Path, stored: bool) -> None:
    table = rows(FLAT, 10)
    if stored:  # the columns are there, and null
        nulls = [pa.nulls(10, pa.string())] * len(META_COLUMNS)
        table = pa.Table.from_arrays([*nulls, *table.columns], schema=with_meta(FLAT))
    footer = written(tmp_path, table).metadata.metadata
    assert not [k for k in footer if k.startswith(b"hoodie_") or b"bloom" in k]


def test_populate_false_asks_for_no_key_statistics(tmp_path: Path) -> None:
    footer = written(tmp_path, rows(STORED, 0), hoodie__populate__meta__fields="false").metadata
    assert b"org.apache.hudi.bloomfilter" not in footer.metadata


def test_bloom_can_be_left_out_unless_the_index_needs_it(tmp_path: Path) -> None:
    off = {"hoodie__parquet__bloom__filter__enabled": "false"}
    footer = written(tmp_path, rows(STORED, 5), **off).metadata.metadata
    assert b"org.apache.hudi.bloomfilter" not in footer
    assert b"hoodie_min_record_key" in footer
    footer = written(tmp_path, rows(STORED, 5), **off, hoodie__index__type="GLOBAL_BLOOM").metadata
    assert b"org.apache.hudi.bloomfilter" in footer.metadata


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("GZIP", "GZIP"),
        ("snappy", "SNAPPY"),
        ("Zstd", "ZSTD"),
        ("LZ4_RAW", "LZ4"),
        ("UNCOMPRESSED", "UNCOMPRESSED"),
    ],
)
def test_codecs(tmp_path: Path, asked: str, found: str) -> None:
    file = written(tmp_path, rows(STORED, 9), hoodie__parquet__compression__codec=asked)
    assert file.metadata.row_group(0).column(0).compression == found
    assert file.read().num_rows == 9


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.parquet.compression.codec": "lzo"},
        {"hoodie.parquet.block.size": "many"},
        {"hoodie.parquet.page.size": "0"},
        {"hoodie.index.bloom.fpp": "2"},
        {"hoodie.bloom.index.filter.type": "CUCKOO"},
    ],
)
def test_bad_values_are_named(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options)).replace(".", r"\.")):
        ParquetFormat.from_settings(Settings(options=options))


def test_row_groups_are_bounded_by_bytes(tmp_path: Path) -> None:
    table = rows(STORED, 5000)
    limit = table.nbytes // 4
    file = written(tmp_path, table, hoodie__parquet__block__size=str(limit))
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert len(sizes) in (4, 5)
    assert sum(sizes) == 5000
    assert max(sizes) <= 1.02 * 5000 / 4
    assert file.read().equals(table)


def test_statistics_prune_row_groups(tmp_path: Path) -> None:
    table = rows(STORED, 5000)
    limit = table.nbytes // 4
    written(tmp_path, table, hoodie__parquet__block__size=str(limit))
    with ParquetFormat().reader(LocalStorage(str(tmp_path)), "file.parquet") as reader:
        one = pc.field(RECORD_KEY) == "key-00000007"
        assert sum(b.num_rows for b in reader.batches(where=one)) < 2000
        # A column that the file lacks does not stop the others from pruning.
        both = one & (pc.field("later") == 3)
        assert sum(b.num_rows for b in reader.batches(where=both)) < 2000
        assert sum(b.num_rows for b in reader.batches(where=pc.field("later") == 3)) == 5000


def test_where_nulls_are_is_in_the_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read of a table with virtual keys asks, of each file."""
    a = [1, 2, None, 4, 5, 6]
    table = pa.table({"a": a, "b c": a[::-1], "s": [{"a": x} for x in a], "d": range(6)})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=2)
    pq.write_table(table, tmp_path / "none.parquet", row_group_size=2, write_statistics=False)
    file_format = ParquetFormat.from_settings(Settings())

    def found(where: pc.Expression, name: str = "f.parquet") -> list[int]:
        with file_format.reader(LocalStorage(str(tmp_path)), name) as reader:
            return [d for batch in reader.batches(["d"], where) for d in batch["d"].to_pylist()]

    a_null, d_null, bc_null = (pc.field(name).is_null() for name in ("a", "d", "b c"))
    assert found(bc_null) == [2, 3]
    assert found(pc.field("s", "a").is_null()) and found(pc.invert(a_null)) == list(range(6))
    assert found(a_null & (pc.field("d") > 3)) == []
    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.dataset.ParquetFileFormat", lambda: pytest.fail("asked Arrow"))
        assert found(a_null) == [2, 3] and found(d_null) == []
        assert found(a_null | d_null) == [2, 3] and found((d_null | d_null) | a_null) == [2, 3]
        assert found(a_null, "none.parquet") == list(range(6))
        for name, asked, without in (
            ("f.parquet", ["d"], True),
            ("f.parquet", ["d", "a"], False),
            ("f.parquet", ["s"], False),
            ("f.parquet", ["d", "e"], False),
            ("none.parquet", ["d"], False),
        ):
            with file_format.reader(LocalStorage(str(tmp_path)), name) as reader:
                assert reader.without_nulls(asked) == without


def test_meta_columns_that_differ_by_row_survive(tmp_path: Path) -> None:
    table = rows(STORED, 6)
    times = pa.array(["1", "2", None, "1", "2", "3"])
    table = table.set_column(0, "_hoodie_commit_time", times)
    local = str(tmp_path / "file.parquet")
    writer = ParquetFormat().writer(local, table.schema)
    for batch in table.to_batches(max_chunksize=2):  # each with a dictionary of its own
        writer.write(batch)
    writer.close()
    found = pq.read_table(local)
    assert found.column(0).combine_chunks().equals(times)
    assert found.schema.field(0).type == pa.string()


def test_range_is_in_javas_order(tmp_path: Path) -> None:
    # As UTF-8, U+FF5E sorts before U+1F600; as UTF-16, which Java compares, after it.
    keys = ["a\uff5e", "a\U0001f600", "ab"]
    table = rows(STORED, 3).set_column(2, RECORD_KEY, pa.array(keys))
    footer = written(tmp_path, table).metadata.metadata
    assert footer[b"hoodie_min_record_key"].decode() == "ab"
    assert footer[b"hoodie_max_record_key"].decode() == "a\uff5e"
    assert footer[b"hoodie_max_record_key"].decode() == max(
        keys, key=lambda k: k.encode("utf-16-be")
    )
    asked = KeyFilter.from_footer({k.decode(): v.decode() for k, v in footer.items()})
    assert asked.might_contain(pa.array(keys)).to_pylist() == [True] * 3


def test_foreign_types_are_read_as_plain_ones(tmp_path: Path) -> None:
    table = pa.table(
        {
            "d": pa.array(["x", "y"]).dictionary_encode(),
            "s": pa.array(["x", None], pa.large_string()),
            "l": pa.array([[1], None], pa.large_list(pa.field("item", pa.int32(), nullable=False))),
        }
    )
    pq.write_table(table, tmp_path / "f.parquet")  # with Arrow's own schema in the footer
    with ParquetFormat().reader(LocalStorage(str(tmp_path)), "f.parquet") as reader:
        assert [str(f.type) for f in reader.schema] == ["string", "string", "list<element: int32>"]
        (batch,) = reader.batches()
    assert batch.schema.equals(reader.schema, check_metadata=True)
    assert batch.to_pydict() == {"d": ["x", "y"], "s": ["x", None], "l": [[1], None]}


def test_a_file_of_meta_columns_alone_is_refused(tmp_path: Path) -> None:
    """A bootstrap's: the rows' own columns lie elsewhere, and would all be null."""
    table = pa.table({name: ["x"] for name in META_COLUMNS})
    pq.write_table(table, tmp_path / "f.parquet")
    with pytest.raises(UnsupportedTableError, match="f.parquet.*METADATA_ONLY"):
        ParquetFormat.from_settings(Settings()).reader(LocalStorage(str(tmp_path)), "f.parquet")


def test_damaged_data_is_named(tmp_path: Path) -> None:
    written(tmp_path, rows(STORED, 3000))
    data = bytearray((tmp_path / "file.parquet").read_bytes())
    data[100:2000] = b"\xff" * 1900
    (tmp_path / "file.parquet").write_bytes(data)
    with ParquetFormat().reader(LocalStorage(str(tmp_path)), "file.parquet") as reader:
        with pytest.raises(CorruptTableError, match=r"file\.parquet"):
            list(reader.batches())


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        ParquetFormat().writer(str(tmp_path / "nowhere" / "f.parquet"), STORED).close()


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize("archive", ZIPS, ids=lambda p: p.stem)
def test_golden_files(archive: Path, tmp_path: Path) -> None:
    """Files of Spark Hudi read as their schema says, and rewritten keep every row."""
    with zipfile.ZipFile(archive) as unzip:
        names = [
            n
            for n in unzip.namelist()
            if n.endswith(".parquet") and "/.hoodie/" not in n and "__MACOSX" not in n
        ]
        unzip.extractall(tmp_path, names)
    storage = LocalStorage(str(tmp_path), durable=False)
    for name in names:
        with ParquetFormat().reader(storage, name) as reader:
            schema = reader.schema
            avro = reader.metadata.get("parquet.avro.schema")
            if avro is not None:
                assert schema.equals(arrow_schema(avro))
            table = pa.Table.from_batches(list(reader.batches()), schema)
            assert len(table) == reader.num_rows
            asked = KeyFilter.from_footer(reader.metadata, name)
        keys = table.column(RECORD_KEY).combine_chunks()
        if asked.filter is not None:
            assert asked.might_contain(keys).false_count == 0
        if any(pa.types.is_fixed_size_binary(f.type) for f in schema):
            continue  # vectors, which tables write as such, and a bare writer refuses
        local = str(tmp_path / "again.parquet")
        writer = ParquetFormat().writer(local, schema)
        writer.write(table)
        writer.close()
        with ParquetFormat().reader(storage, "again.parquet") as reader:
            again = pa.Table.from_batches(list(reader.batches()), schema)
        assert again.combine_chunks().equals(table.combine_chunks())


def test_files_of_two_schemas_are_described_each_by_its_own(tmp_path: Path) -> None:
    """What says so in the footer is made once for a schema: as long as the next file has the same."""
    names = [("a", "t"), ("b", "t"), ("b", "u"), ("a", "t")]
    for number, (column, table) in enumerate(names):
        local = str(tmp_path / f"{number}.parquet")
        schema = pa.schema([(column, pa.int64())])
        writer = ParquetWriter(local, schema, WriterOptions(table_name=table))
        writer.write(pa.table({column: [1]}, schema=schema))
        writer.close()
        text = json.loads(pq.read_metadata(local).metadata[b"parquet.avro.schema"])
        assert (text["name"], text["fields"][0]["name"]) == (f"{table}_record", column)


@pytest.mark.parametrize(
    ("columns", "count", "found"), [(300, 10, "UNCOMPRESSED"), (300, 500, "ZSTD"), (20, 10, "ZSTD")]
)
def test_many_columns_of_a_few_bytes_are_plain(
    tmp_path: Path, columns: int, count: int, found: str
) -> None:
    names = [RECORD_KEY, *(f"c{n}" for n in range(columns))]
    numbers = pa.array(range(count), pa.int64())
    table = pa.table([numbers.cast(pa.string()), *[numbers] * columns], names=names)
    file = written(tmp_path, table)
    chunk = file.metadata.row_group(0).column(5)
    assert (chunk.compression, chunk.has_dictionary_page) == (found, found == "ZSTD")
    assert file.read() == table


def test_a_small_row_group_before_others_is_compressed(tmp_path: Path) -> None:
    """What the first rows decide, all rows of the file have."""
    columns = {f"c{n}": pa.array(range(10), pa.int64()) for n in range(300)}
    table = pa.table({RECORD_KEY: pa.array(range(10)).cast(pa.string()), **columns})
    local = str(tmp_path / "file.parquet")
    writer = ParquetFormat.from_settings(Settings()).writer(local, table.schema)
    writer.write(table)
    writer.flush()
    writer.write(table)
    writer.close()
    metadata = pq.ParquetFile(local).metadata
    found = {metadata.row_group(n).column(5).compression for n in range(metadata.num_row_groups)}
    assert found == {"ZSTD"}
