"""What is written is what is read: against a dictionary, whatever the keys, values and settings."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, SchemaError
from hoodoo_metadata.hfile import ENTRIES, Checksum, FileWindow, HFile, reader, write_hfile
from hoodoo_metadata.hfile.format import SUFFIX
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(3)

SHORT = st.binary(max_size=6)
LIKE = st.integers(0, 500).map(lambda i: b"key-%06d" % i)
MIXED = st.one_of(
    SHORT,
    LIKE,
    st.tuples(LIKE, SHORT).map(b"".join),
    st.tuples(st.sampled_from([b"x" * 100, b"x" * 130, b"y" * 300]), SHORT).map(b"".join),
    st.sampled_from([0, 1, 255]).flatmap(
        lambda b: st.integers(0, 12).map(lambda n: bytes([b]) * n)
    ),
    SHORT.map(lambda end: b"z" * 30_000 + end),
)
VALUES = st.one_of(
    st.binary(max_size=40),
    st.integers(0, 3).map(lambda i: bytes([i]) * 45),
    # What could be taken for an entry, if one looked at bytes alone.
    st.just(b"\0\0\0\x0d\0\0\0\x02\0\x01a\0\x7f" + b"\xff" * 7 + b"\x04vv\0"),
    st.sampled_from([5_000, 100_000]).map(lambda n: b"v" * n),
)
MODELS = st.dictionaries(MIXED, VALUES, max_size=60)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    model=MODELS,
    asked=st.lists(MIXED, max_size=20),
    prefixes=st.sets(
        st.one_of(SHORT, st.sampled_from([b"key-0000", b"x" * 90, b"\xff"])), max_size=4
    ),
    codec=st.sampled_from(["gzip", "none"]),
    checksum=st.sampled_from(list(Checksum)),
    block_bytes=st.sampled_from([1, 100, 1000, 4096, 65536]),
    pieces=st.sampled_from([1, 2, 7]),
)
def test_against_a_dictionary(
    made: Any,
    model: dict[bytes, bytes],
    asked: list[bytes],
    prefixes: set[bytes],
    codec: str,
    checksum: Checksum,
    block_bytes: int,
    pieces: int,
) -> None:
    data = made.data(model, pieces, codec=codec, checksum=checksum, block_bytes=block_bytes)
    file = made.open(data)
    expected = sorted(model.items())
    assert made.pairs(file.scan()) == expected
    assert file.entry_count == len(model)
    wanted = list({*asked, *list(model)[::2]})
    matching = [(k, v) for k, v in expected if k in set(wanted)]
    for how in ("seek", "scan", "auto"):
        assert made.pairs(file.get(made.keys(wanted), how)) == matching
    if not any(SUFFIX in value for value in model.values()):
        assert made.pairs(file.get(made.keys(wanted), "seek", apart=True)) == matching
    begin = [(k, v) for k, v in expected if k.startswith(tuple(prefixes))]
    assert made.pairs(file.get_prefixes(made.keys(prefixes))) == (begin if prefixes else [])
    if len(wanted) > 1:
        start, stop = sorted(wanted[:2])
        between = [(k, v) for k, v in expected if start <= k < stop]
        assert made.pairs(file.scan(start, stop)) == between
        assert made.pairs(file.scan(stop=stop)) == [(k, v) for k, v in expected if k < stop]


@pytest.mark.parametrize("values", [lambda i: b"v" * 45, lambda i: b"v" * (i * 7 % 90)])
@pytest.mark.parametrize("block_bytes", [1 << 10, 64 << 10, 4 << 20])
def test_many_entries(made: Any, values: Any, block_bytes: int) -> None:
    """Enough for a block to be entered in the middle, and for several walks."""
    model = {b"%08d" % (7 * i) + b"k" * (i % 5): values(i) for i in range(30_000)}
    file = made.open(made.data(model, 3, block_bytes=block_bytes))
    assert made.pairs(file.scan()) == sorted(model.items())
    some = list(model)[::41]
    for how in ("seek", "scan"):
        found = made.pairs(file.get(made.keys(some), how))
        assert found == sorted((k, model[k]) for k in some)
    more = made.keys([*some, *(key + b"x" for key in some), b"", b"zz", b"z" * 70_000])
    assert made.pairs(file.get(more, "seek", apart=True)) == found


def test_the_share_of_keys_decides_how_they_are_looked_up(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few are sought, in the blocks that may have them; many are found by reading all."""
    model = {b"%06d" % i: b"v%d" % i for i in range(3000)}
    file = made.open(made.data(model, block_bytes=1 << 10))
    assert file.blocks > 20
    sought: list[int] = []
    blocks_of = reader.blocks_of_keys

    def counted(index: Any, keys: pa.Array) -> Any:
        sought.append(len(keys))
        return blocks_of(index, keys)

    monkeypatch.setattr(reader, "blocks_of_keys", counted)
    for count, expected in (
        (1, [1]),
        (3 * file.blocks, [3 * file.blocks]),
        (3 * file.blocks + 1, []),
        (3000, []),
    ):
        some = list(model)[:count]
        sought.clear()
        assert made.pairs(file.get(made.keys(some))) == [(key, model[key]) for key in some]
        assert sought == expected


def test_keys_of_another_writer(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it stores behind keys is something else: they are not looked for by Hudi's bytes."""
    monkeypatch.setattr("hoodoo_metadata.hfile.pack.SUFFIX", SUFFIX[:-1] + b"\x05")
    model = {b"%08d" % i: b"v%d" % i for i in range(3000)}
    file = made.open(made.data(model, block_bytes=1 << 12))
    some = [b"00000007", b"00002999", b"none"]
    found = made.pairs(file.get(made.keys(some), "seek", apart=True))
    assert found == [(k, model[k]) for k in some[:2]]


def test_keys_that_contain_each_other(made: Any) -> None:
    """The length before a key, and the bytes behind it, tell it from the end or the beginning of another one."""
    model = {b"k" * i: b"%d" % i for i in range(1, 300)} | {b"a" + b"k" * 9: b"a"}
    file = made.open(made.data(model, block_bytes=1 << 11))
    some = [*model, b"a" + b"k" * 8, b"k" * 300]
    assert made.pairs(file.get(made.keys(some), "seek", apart=True)) == sorted(model.items())


def test_values_that_look_like_keys(made: Any) -> None:
    """Whoever looks for keys by their bytes says that there are none; what is no entry is seen all the same."""
    inner = (5).to_bytes(2, "big") + b"00003" + SUFFIX
    file = made.open(made.data({b"%05d" % i: inner for i in range(9)}, block_bytes=64))
    assert made.pairs(file.get(made.keys([b"00003"]), "seek", apart=True)) == [(b"00003", inner)]


def test_values_that_look_like_entries(made: Any) -> None:
    """A place inside a value, taken for an entry, does not lead the walk astray."""
    inner = made.data({b"%05d" % i: b"w" * 20 for i in range(500)}, codec="none")
    model = {b"%05d" % i: inner for i in range(40)}
    file = made.open(made.data(model, block_bytes=4 << 20))
    assert made.pairs(file.scan()) == sorted(model.items())


def test_keys_that_differ_late(made: Any) -> None:
    """Eight bytes after what all keys share say nothing here."""
    model = {
        side + b"same-in-all-keys" + b"%06d" % i: b"%d" % i
        for side in (b"a", b"b")
        for i in range(3000)
    }
    file = made.open(made.data(model))
    some = [*list(model)[::5], b"asame-in-all-keys", b"bsame-in-all-keysx"]
    expected = sorted((k, model[k]) for k in some if k in model)
    assert made.pairs(file.get(made.keys(some), "scan")) == expected
    assert made.pairs(file.get(pa.array([k.decode() for k in some]), "seek")) == expected


def test_it_is_written_from_where_the_sink_is(made: Any) -> None:
    sink = io.BytesIO()
    sink.write(b"before")
    batch = made.batch({b"a": b"1", b"b": b"2"})
    done = write_hfile(sink, [batch], schema_text='"bytes"')
    assert (done.entries, done.first_key, done.last_key) == (2, b"a", b"b")
    assert sink.tell() == 6 + done.size
    assert made.pairs(made.open(sink.getvalue()[6:]).scan()) == [(b"a", b"1"), (b"b", b"2")]


def test_info_and_meta_blocks(made: Any) -> None:
    file = made.open(
        made.data({b"a": b"1"}, info={"minRecordKey": b"a"}, meta={"bloomFilter": b"x" * 99})
    )
    assert file.info["schema"] == b'"bytes"'
    assert file.info["minRecordKey"] == b"a"
    assert file.meta_block("bloomFilter") == b"x" * 99


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ([b"b", b"a"], "ascend"),
        ([b"a", b"a"], "none occurs twice"),
        ([b"a", None], "null"),
        ([b"k" * 32768], "32767"),
        ([b"\x7f", b"\x80", b"\x7f"], "ascend"),
    ],
)
def test_keys_that_are_refused(keys: list[bytes], rule: str) -> None:
    columns = [pa.array(keys, pa.binary()), pa.array([b""] * len(keys), pa.binary())]
    batch = pa.RecordBatch.from_arrays(columns, schema=ENTRIES)
    with pytest.raises(DataError, match=rule):
        write_hfile(io.BytesIO(), [batch], schema_text='""')


def test_what_else_is_refused(made: Any) -> None:
    one, two = made.batch({b"b": b""}), made.batch({b"a": b""})
    with pytest.raises(DataError, match="ascend"):
        write_hfile(io.BytesIO(), [one, two], schema_text='""')
    with pytest.raises(SchemaError, match="key and value"):
        write_hfile(io.BytesIO(), [one.rename_columns(["k", "v"])], schema_text='""')
    with pytest.raises(SchemaError, match="bytes"):
        numbers = pa.RecordBatch.from_pydict({"key": [1], "value": [b""]})
        write_hfile(io.BytesIO(), [numbers], schema_text='""')
    with pytest.raises(ConfigError, match="gzip or none"):
        write_hfile(io.BytesIO(), [], schema_text='""', codec="zstd")
    file = HFile.open(FileWindow.on(made.data({b"a": b""})))
    with pytest.raises(DataError, match="auto, seek or scan"):
        file.get(made.keys([b"a"]), "jump")
    with pytest.raises(DataError, match="null"):
        file.get(pa.array(["a", None]))
    with pytest.raises(DataError, match="strings or bytes"):
        file.get(pa.array([1]))
