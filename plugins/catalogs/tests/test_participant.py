"""Catalogs follow each action, whoever does it; one that is down or hangs fails and delays
nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooWarning, OptionConflictError
from hoodoo_catalogs import participant
from hoodoo_catalogs.described import Described
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.places import Place
from hoodoo_catalogs.sync import sync
from hoodoo_catalogs.testing.fakes import Faulty, Hangs, MemoryCatalog, is_down

SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), pa.field("day", pa.string()), pa.field("at", pa.timestamp("us"))]
)
OPTIONS = {"hoodoo.catalogs": "fake://db.t"}
LAST = "last_commit_time_sync"


def trips(*ids: int, day: str = "mon") -> list[dict[str, Any]]:
    return [{"id": n, "day": day, "at": None} for n in ids]


def table_at(path: Path, **options: Any) -> hoodoo.Table:
    arguments: dict[str, Any] = {"record_key": "id", "partition_by": "day"}
    arguments |= {k: options.pop(k) for k in ("table_type", "table_version") if k in options}
    given = {**OPTIONS, **options.pop("given", {})}
    return hoodoo.create(str(path), SCHEMA, name="t", options=given, **arguments)


def partitions(catalog: MemoryCatalog, name: str = "db.t") -> list[str]:
    return sorted(values[0] for values in catalog.partitions(name))


@pytest.mark.parametrize("version", [6, 9])
def test_every_action_is_followed(tmp_path: Path, fake: list[Any], version: int) -> None:
    catalog = fake[0]
    table = table_at(tmp_path / "t", table_version=version)
    first = table.upsert(trips(1, day="mon") + trips(2, day="tue"))
    entry = catalog.find("db.t")
    assert entry.location == table.path and entry.parameters[LAST] == first.instant
    assert partitions(catalog) == ["mon", "tue"]
    assert catalog.partitions("db.t")[("mon",)] == f"{table.path}/mon"
    second = table.upsert(trips(3, day="wed"))
    assert partitions(catalog) == ["mon", "tue", "wed"]
    table.delete_partitions("tue")
    assert partitions(catalog) == ["mon", "wed"]
    table.restore(second.instant)
    assert partitions(catalog) == ["mon", "tue", "wed"]
    assert catalog.find("db.t").parameters[LAST] == second.instant
    table.rollback(second.instant)
    assert partitions(catalog) == ["mon", "tue"]
    assert catalog.find("db.t").parameters[LAST] == first.instant
    table.insert_overwrite_table(trips(1, day="sun"))
    assert partitions(catalog) == ["sun"]


def test_columns_are_changed_and_commented(tmp_path: Path, fake: list[Any]) -> None:
    table = table_at(tmp_path / "t")
    table.upsert(trips(1))
    table.alter(add={"n": "int"})
    assert [(c.name, c.type) for c in fake[0].find("db.t").columns] == [
        ("id", "bigint"),
        ("at", "timestamp"),
        ("n", "int"),
    ]
    table.alter(widen={"n": "bigint"})
    assert fake[0].find("db.t").columns[-1].type == "bigint"


def test_it_catches_up_with_others(
    tmp_path: Path, fake: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers that know nothing of catalogs commit, evolve, drop and archive; the next action, or
    sync(), tells all."""
    table = table_at(tmp_path / "t")
    table.upsert(trips(1))
    with monkeypatch.context() as patched:
        patched.setattr(participant, "catalogs_of", lambda config, given: ())
        other = hoodoo.open(str(tmp_path / "t"))
        other.upsert(trips(2, day="tue"))
        other.alter(add={"n": "int"})
        last = other.upsert([{**trips(3, day="wed")[0], "n": 1}])
    assert partitions(fake[0]) == ["mon"]
    done = table.sync()
    assert [d.partitions_added for d in done] == [2] and done[0].columns_changed
    assert partitions(fake[0]) == ["mon", "tue", "wed"]
    assert fake[0].find("db.t").parameters[LAST] == last.instant
    assert all(one.skipped for one in table.sync())
    with monkeypatch.context() as patched:
        patched.setattr(participant, "catalogs_of", lambda config, given: ())
        options = {
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.clean.commits.retained": "1",
        }
        other = hoodoo.open(str(tmp_path / "t"), options)
        other.delete_partitions("tue")
        for n in range(8):
            other.upsert(trips(n, day="thu"))
    table.upsert(trips(1))
    assert partitions(fake[0]) == ["mon", "thu", "wed"]


def test_an_older_look_replaces_no_newer_entry(tmp_path: Path, fake: list[Any]) -> None:
    table = table_at(tmp_path / "t")
    table.upsert(trips(1))
    seen = table.timeline()
    last = hoodoo.open(str(tmp_path / "t"), OPTIONS).upsert(trips(2, day="tue"))
    request = table.handle.participants.request()
    table.handle.participants.each.after_action(request, seen)
    assert fake[0].find("db.t").parameters[LAST] == last.instant
    assert partitions(fake[0]) == ["mon", "tue"]


@pytest.mark.parametrize("at", ["partitions", "drop_partitions", "put"])
def test_a_late_sync_drops_no_partition_that_came_back(
    tmp_path: Path, fake: list[Any], at: str
) -> None:
    """Another process writes, and syncs, while this one is about to drop the partition."""
    table, catalog = table_at(tmp_path / "t"), fake[0]
    table.upsert(trips(1))
    table.upsert(trips(2, day="tue"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(participant, "catalogs_of", lambda config, given: ())
        table.delete_partitions("tue")
    late, handle = [True], table.handle

    class Between:
        def __getattr__(self, name: str) -> Any:
            found = getattr(catalog, name)
            if name != at or not late:
                return found
            late.clear()

            def call(*given: Any) -> Any:
                answer = found(*given) if at == "partitions" else None
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(participant, "catalogs_of", lambda config, given: ())
                    other = hoodoo.open(str(tmp_path / "t"), OPTIONS)
                    other.upsert(trips(3, day="tue"))
                seen = Described(other.handle.storage, other.timeline(), other.handle.options)
                sync(seen, Place.of("fake://db.t"), catalog)
                return answer if at == "partitions" else found(*given)

            return call

    seen = Described(handle.storage, table.timeline(), handle.options)
    sync(seen, Place.of("fake://db.t"), Between())
    assert not late and partitions(catalog) == ["mon", "tue"]


def test_one_that_is_down_fails_no_commit(tmp_path: Path, fake: list[Any]) -> None:
    works, table = fake[0], table_at(tmp_path / "t")
    table.upsert(trips(1))
    fake[0] = Faulty(works, is_down)
    with pytest.warns(HoodooWarning, match=r"fake://db\.t is not updated .*is down"):
        table.upsert(trips(2, day="tue"))
    with pytest.raises(CatalogError, match="is down"):
        table.sync()
    assert table.read().count() == 2 and partitions(works) == ["mon"]
    fake[0] = works
    table.upsert(trips(3))
    assert partitions(works) == ["mon", "tue"]


@pytest.mark.parametrize("call", ["find", "put", "partitions", "add_partitions"])
def test_it_fails_once_anywhere(tmp_path: Path, fake: list[Any], call: str) -> None:
    """After a fault at any call, the next action ends with the same entries."""
    works, failed = fake[0], [0]

    def once(name: str) -> None:
        if name == call and not failed[0]:
            failed[0] = 1
            raise RuntimeError("broken pipe")

    fake[0] = Faulty(works, once)
    table = table_at(tmp_path / "t")
    with pytest.warns(HoodooWarning, match="broken pipe"):
        table.upsert(trips(1) + trips(2, day="tue"))
    last = table.upsert(trips(3))
    assert partitions(works) == ["mon", "tue"]
    assert works.find("db.t").parameters[LAST] == last.instant


def test_one_that_hangs_delays_a_commit_no_longer_than_said(
    tmp_path: Path, fake: list[Any]
) -> None:
    works, hangs = fake[0], Hangs()
    fake[0] = Faulty(works, hangs)
    table = table_at(tmp_path / "t", given={"hoodoo.catalogs.wait": "200ms"})
    began = time.monotonic()
    with pytest.warns(HoodooWarning, match="not answered in time"):
        table.upsert(trips(1))
    with pytest.warns(HoodooWarning, match="still in progress"):
        table.upsert(trips(2))
    assert time.monotonic() - began < 20  # not the minute that a call takes
    hangs.released.set()
    for _ in range(200):
        if not participant._running:
            break
        time.sleep(0.01)
    last = table.upsert(trips(3))
    assert works.find("db.t").parameters[LAST] == last.instant


def test_many_at_once(tmp_path: Path, fake: list[Any]) -> None:
    catalogs = f"fake://db.t,{tmp_path}/lake#t,fake://other.t"
    table = table_at(tmp_path / "t", given={"hoodoo.catalogs": catalogs})
    table.upsert(trips(1))
    assert fake[0].tables() == ("db.t", "other.t")
    assert hoodoo.catalog(str(tmp_path / "lake")).tables() == ("t",)


def test_views_of_a_merge_on_read_table(tmp_path: Path, fake: list[Any]) -> None:
    fake[0].has_views = True
    given = {"hoodoo.catalogs": "fake://db.t"}
    table = table_at(tmp_path / "t", given=given, table_type="MERGE_ON_READ")
    table.upsert(trips(1))
    found = {name: fake[0].find(name) for name in fake[0].tables()}
    assert {name: entry.view for name, entry in found.items()} == {
        "db.t": "realtime",
        "db.t_ro": "read_optimized",
        "db.t_rt": "realtime",
    }
    assert [c.name for c in found["db.t"].columns][:1] == ["_hoodie_commit_time"]
    assert found["db.t"].columns[-1].type == "bigint"  # of a timestamp, as Hudi's sync tools say
    assert partitions(fake[0], "db.t_ro") == ["mon"]


def test_two_tables_of_one_name_stay_two(tmp_path: Path, fake: list[Any]) -> None:
    table_at(tmp_path / "one").upsert(trips(1))
    with pytest.warns(HoodooWarning, match="is the table at"):
        table_at(tmp_path / "two").upsert(trips(1))
    assert fake[0].find("db.t").location == f"file://{tmp_path}/one"


def test_commits_that_change_no_entry(tmp_path: Path, fake: list[Any]) -> None:
    given = {"hoodie.datasource.meta_sync.condition.sync": "true"}
    table = table_at(tmp_path / "t", given=given)
    first = table.upsert(trips(1))
    writes = fake[0].writes
    table.upsert(trips(2))
    assert fake[0].writes == writes
    assert fake[0].find("db.t").parameters[LAST] == first.instant
    last = table.upsert(trips(3, day="tue"))
    assert fake[0].find("db.t").parameters[LAST] == last.instant


def test_wrong_options_are_refused_before_anything(tmp_path: Path, fake: list[Any]) -> None:
    wrong = (
        {"hoodoo.catalogs.wait": "soon"},
        {"hoodie.datasource.hive_sync.mode": "jdbc"},
        {
            "hoodie.datasource.meta.sync.enable": "true",
            "hoodie.meta.sync.client.tool.class": "org.apache.hudi.NoTool",
        },
    )
    for given in wrong:
        with pytest.raises((ConfigError, OptionConflictError)):
            table_at(tmp_path / "t", given=given)
    assert not (tmp_path / "t").exists()


def test_doctor_says_what_is_behind(
    tmp_path: Path, fake: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_catalogs.check import CatalogsCheck

    table = table_at(tmp_path / "t")
    table.upsert(trips(1))
    storage = table.handle.storage
    assert not CatalogsCheck({}).table(storage, probe=False).findings
    with monkeypatch.context() as patched:
        patched.setattr(participant, "catalogs_of", lambda config, given: ())
        hoodoo.open(str(tmp_path / "t")).upsert(trips(2))
    (found,) = CatalogsCheck({}).table(storage, probe=False).findings
    assert found.kind == "catalogs.behind" and "hoodoo sync" in found.fix
    fake[0] = Faulty(fake[0], is_down)
    (found,) = CatalogsCheck({}).table(storage, probe=False).findings
    assert found.kind == "catalogs.failed" and "is down" in found.rule


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("find", 7),
        ("find", "text"),
        ("put", None),
        ("put", "yes"),
        ("partitions", None),
        ("partitions", 7),
    ],
)
def test_a_wrong_answer_names_the_plugin(
    tmp_path: Path, fake: list[Any], call: str, answer: Any
) -> None:
    fake[0] = type("Wrong", (MemoryCatalog,), {call: lambda self, *arguments: answer})()
    table = table_at(tmp_path / "t")
    with pytest.warns(HoodooWarning, match=r"acme 1\.0"):
        table.upsert(trips(1))
    assert table.read().count() == 1


def test_every_member_of_the_protocols_is_called_by_the_suite() -> None:
    from hoodoo_catalogs.testing import catalog

    text = Path(catalog.__file__).read_text("utf-8")
    members = ("tables", "find", "put", "drop", "partitions", "add_partitions", "drop_partitions")
    assert all(f"catalog.{member}(" in text for member in members)


def test_the_process_that_serves_tables_syncs_them(
    tmp_path: Path, fake: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_serve.table_services import TableServices

    table = table_at(tmp_path / "t")
    table.upsert(trips(1))
    with monkeypatch.context() as patched:
        patched.setattr(participant, "catalogs_of", lambda config, given: ())
        last = hoodoo.open(str(tmp_path / "t")).upsert(trips(2, day="tue"))
    services = TableServices(str(tmp_path / "t"), {})
    try:
        services.round()
    finally:
        services.close()
    assert fake[0].find("db.t").parameters[LAST] == last.instant
    assert partitions(fake[0]) == ["mon", "tue"]
