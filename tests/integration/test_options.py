"""Options: what they do in each spelling, who gets them, and that nothing happens under wrong ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.testing.distributions import fake_distribution, found_anew
from hoodoo_cli.testing.command import run_command

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
ROWS = pa.table([[1, 2], ["oslo", "rome"], [1, 1]], schema=SCHEMA)
TWICE = pa.concat_tables([ROWS, ROWS])
ON, OFF = ["true", "1", "yes", "on", "True ", " YES"], ["false", "0", "no", "off", "OFF", "False\t"]
FLAGS = [
    "hoodie.clustering.inline", "hoodie.clean.automatic", "hoodie.metadata.enable", "hoodie.compact.inline",
    "hoodie.archive.automatic", "hoodie.combine.before.insert", "hoodie.record.index.update.partition.path",
]  # fmt: skip


def create(path: Path, options: dict[str, Any] | None = None, **more: Any) -> hoodoo.Table:
    given = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
    return hoodoo.create(str(path), SCHEMA, options=options, **given)


# --- spellings ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("spelt", "on"), [*((w, True) for w in ON), *((w, False) for w in OFF)])
def test_fault_a10_flags_count_in_any_spelling(tmp_path: Path, spelt: str, on: bool) -> None:
    rows = create(tmp_path / "combine", {"hoodie.combine.before.insert": spelt})
    rows.append(TWICE)
    assert rows.read().count() == (2 if on else 4)

    kept = create(tmp_path / "metadata", {"hoodie.metadata.enable": spelt})
    assert ("files" in kept.config.metadata_partitions) is on

    often = {"hoodie.clean.automatic": spelt, "hoodie.clean.commits.retained": "1"}
    cleaned = create(tmp_path / "clean", often)
    for _ in range(4):
        cleaned.upsert(ROWS)
    assert any(i.action == "clean" for i in cleaned.timeline().instants) is on

    inline = {"hoodie.compact.inline": spelt, "hoodie.compact.inline.max.delta.commits": "1"}
    merged = create(tmp_path / "compact", inline, table_type="MERGE_ON_READ")
    merged.upsert(ROWS)
    merged.upsert(ROWS)
    assert any(i.action == "commit" for i in merged.timeline().instants) is on

    moves = create(
        tmp_path / "moves",
        {"hoodie.record.index.update.partition.path": spelt},
        index="record_index",
    )
    moves.upsert(ROWS)
    moves.upsert(pa.table([[1], ["rome"], [2]], schema=SCHEMA))
    paths = moves.read(["_hoodie_partition_path"]).to_arrow()["_hoodie_partition_path"].to_pylist()
    assert ("oslo" not in paths) is on


@pytest.mark.parametrize("key", FLAGS)
def test_fault_a10_what_is_no_flag_is_an_error(tmp_path: Path, key: str) -> None:
    create(tmp_path / "t")
    with pytest.raises(ConfigError, match=rf"{key}.*must be true or false, not 'ture'.*'true'"):
        hoodoo.open(str(tmp_path / "t"), {key: "ture"})
    with pytest.raises(ConfigError, match=key):
        create(tmp_path / "o", {key: "maybe"})
    assert not (tmp_path / "o").exists()


def test_fault_c_sizes_have_units_and_bad_ones_are_sentences(tmp_path: Path) -> None:
    create(tmp_path / "t").upsert(ROWS)
    path = str(tmp_path / "t")
    stats = hoodoo.open(path, {"hoodie.parquet.small.file.limit": "10MB"}).stats()
    assert stats == hoodoo.open(path, {"hoodie.parquet.small.file.limit": 10 << 20}).stats()
    with pytest.raises(ConfigError, match=r"small\.file\.limit.*'10XB'.*'10MB'"):
        hoodoo.open(path, {"hoodie.parquet.small.file.limit": "10XB"})
    most = "hoodie.metadata.index.column.stats.max.columns.to.index"
    with pytest.raises(ConfigError, match=rf"{most}.*whole number.*'many'.*default, 32"):
        hoodoo.open(path, {most: "many"})


def test_table_properties_are_stored_in_their_plain_spelling(tmp_path: Path) -> None:
    options = {
        "hoodie.datasource.write.hive_style_partitioning": "Yes",
        "hoodie.populate.meta.fields": " ON ",
        "hoodie.table.cdc.enabled": 0,
    }
    table = create(tmp_path / "t", options)
    assert {key: table.config.get(key) for key in options} == dict(
        zip(options, ("true", "true", "false"), strict=True)
    )
    assert table.upsert(ROWS).inserted == 2
    assert sorted(s.partition_path for s in table.file_slices()) == ["city=oslo", "city=rome"]
    hoodoo.open(str(tmp_path / "t"), options)
    with pytest.raises(OptionConflictError):
        hoodoo.open(str(tmp_path / "t"), {"hoodie.datasource.write.hive_style_partitioning": "off"})


def test_older_names_say_the_same(tmp_path: Path) -> None:
    new, old = "hoodie.clean.commits.retained", "hoodie.cleaner.commits.retained"
    for options in ({new: 1}, {old: 1}, {new: 1, old: "1"}):
        table = create(tmp_path / str(len(options)) / next(iter(options)), options)
        for _ in range(4):
            table.upsert(ROWS)
        assert any(i.action == "clean" for i in table.timeline().instants)
    with pytest.raises(OptionConflictError, match=rf"{new}=1 and {old}=2"):
        hoodoo.open(table.path, {new: 1, old: 2})


# --- what contradicts -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.keep.min.commits": 5, "hoodie.keep.max.commits": 5},
        {"hoodie.keep.min.commits": 40},
        {"hoodie.clustering.inline": True, "hoodie.clustering.schedule.inline": "1"},
        {"hoodie.metadata.global.record.level.index.min.filegroup.count": 20_000},
        {"hoodie.metadata.record.index.enable": "yes", "hoodie.metadata.enable": "no"},
        {"hoodie.write.lock.provider": "filesystem", "hoodie.write.lock.filesystem.path": "locks"},
        {"hoodie.write.lock.storage.validity.timeout.secs": "40s"},
        {"hoodie.recordkey.virtual.enabled": "true", "hoodie.populate.meta.fields": "true"},
    ],
    ids=lambda options: " ".join(key.rpartition(".")[2] for key in options),
)  # fmt: skip
def test_contradictions_leave_no_table_behind(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        create(tmp_path / "t", options)
    assert not (tmp_path / "t").exists()


# --- who gets them --------------------------------------------------------------------------------
STORE = """
from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration
from hoodoo_standard.storage.local import LocalStorage

ENDPOINT = Option("acme.endpoint", "Where the store is.", "nowhere")  # as plugins of 0.1 declare one
SEEN = []

def made(settings):
    SEEN.append(settings.options.get("acme.endpoint"))
    return LocalStorage(settings.options["hoodoo.storage.uri"].replace("acme://", ""))

@hookimpl
def hoodoo_storages():
    return [Registration("acme", made, options=(ENDPOINT,))]
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """The endpoints that the factory of a storage plugin has seen."""
    found = fake_distribution(
        tmp_path / "plugins",
        "acme",
        entry_points={"acme": "acme_store"},
        modules={"acme_store": STORE},
    )
    monkeypatch.syspath_prepend(str(found))
    with found_anew():
        import acme_store  # type: ignore[import-not-found]

        yield acme_store.SEEN
    del sys.modules["acme_store"]


def test_fault_a11_a_storage_gets_the_options_whenever_a_table_is_opened(
    tmp_path: Path, acme: list[str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    uri, here = f"acme://{tmp_path}/t", {"acme.endpoint": "here"}
    hoodoo.create(uri, SCHEMA, record_key="id", options=here)
    assert set(acme) == {"here"}  # that of the table, and those above it
    acme.clear()
    hoodoo.open(uri, here).upsert(ROWS)
    assert acme == ["here"]
    for command in ("timeline", "verify", "files", "stats"):
        acme.clear()
        run_command(command, uri, "-o", "acme.endpoint=here")
        assert acme and set(acme) == {"here"}, command
    acme.clear()
    hoodoo.open(uri)
    assert acme == [None]


def test_options_are_judged_before_a_storage_is_asked(
    tmp_path: Path, acme: list[str | None]
) -> None:
    with pytest.raises(ConfigError, match="hoodie.clean.automatic"):
        hoodoo.open(f"acme://{tmp_path}/nothing", {"hoodie.clean.automatic": "maybe"})
    assert acme == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "hoodie.clean.automatic"], "has no value"),
        (["-o", "hoodie.clean.automatic=maybe"], "must be true or false, not 'maybe'"),
        (["-o", "hoodie.clean.automatik=true"], "did you mean 'hoodie.clean.automatic'"),
        (["-o", "hoodie.keep.max.commits=40", "-o", "hoodie.keep.max.commits=50"], "given twice"),
    ],
)
def test_commands_refuse_wrong_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    create(tmp_path / "t")
    assert run_command("timeline", tmp_path / "t", *options)
    assert said in " ".join(capsys.readouterr().err.split())
