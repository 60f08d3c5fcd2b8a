"""CALL: procedures of Hudi that show commits, files, services and indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, HoodooError
from hoodoo_statements.session.procedures.call import PROCEDURES
from hoodoo_statements.session.procedures.others import ELSEWHERE

SCHEMA = {"id": "bigint", "city": "string", "x": "int"}


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="id", partition_by="city", table_type="mor"
    )
    for x in range(2):
        made.upsert([{"id": i, "city": ("oslo", "rome")[i % 2], "x": x} for i in range(4)])
    return made


@pytest.fixture
def call(table: Any, tmp_path: Path) -> Any:
    session = hoodoo.session(catalogs=str(tmp_path / "lake"), tables={"t": table})

    def run(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in session.sql(f"CALL {text}").to_pylist()]

    return run


def test_one_commit(table: Any, call: Any) -> None:
    first, second = (instant.requested for instant in table.timeline().writes())
    files = call(f"show_commit_files(table => 't', instant_time => '{second}')")
    assert [row[:2] + row[4:6] for row in files] == [
        ("deltacommit", "oslo", 2, 2),
        ("deltacommit", "rome", 2, 2),
    ]
    paths = call(f"show_commit_partitions(table => 't', instant_time => '{first}')")
    assert [row[1:6] for row in paths] == [("oslo", 1, 0, 2, 0), ("rome", 1, 0, 2, 0)]
    ((action, size, count, average),) = call(f"show_commit_write_stats('t', 10, '{first}')")
    assert (action, count, average) == ("deltacommit", 4, round(size / 4))
    extra = call(
        f"show_commit_extra_metadata('t', instant_time => '{first}', metadata_key => 'schema')"
    )
    assert [row[:3] for row in extra] == [(first, "deltacommit", "schema")]
    assert call("show_commit_extra_metadata(table => 't')")[0][0] == second
    with pytest.raises(ConfigError, match="no completed write.*show_commits"):
        call("show_commit_files('t', 10, '1')")


def test_what_was_undone(table: Any, call: Any) -> None:
    last = table.upsert([{"id": 9, "city": "kyiv", "x": 9}]).instant
    assert call(f"rollback_to_instant('t', '{last}')") == [(True,)]
    ((by, gone, files, _, paths),) = call("show_rollbacks('t')")
    assert (gone, files, paths) == (last, 1, 1)
    ((_, _, path, name, fine),) = call(
        f"show_rollback_detail(table => 't', instant_time => '{by}')"
    )
    assert (path, fine) == ("kyiv", True) and name.endswith(f"{last}.parquet")
    shown = call("show_timeline(table => 't', filter => \"action = 'rollback'\")")
    assert [(row[0], row[6], row[7]) for row in shown] == [(by, "ACTIVE", f"Rolled back: {last}")]


def test_times_of_the_timeline(table: Any, call: Any) -> None:
    first, second = (instant.requested for instant in table.timeline().writes())
    assert [row[0] for row in call(f"show_timeline('t', startTime => '{second}')")] == [second]
    assert [row[0] for row in call(f"show_timeline('t', endTime => '{first}')")] == [first]
    both = call(f"show_timeline('t', limit => 1, startTime => '{first}', endTime => '{second}')")
    assert [row[0] for row in both] == [second, first]
    clock = f"{second[4:6]}-{second[6:8]} {second[8:10]}:"
    assert all(str(at).startswith(clock[:6]) for at in both[0][3:6])


def test_archived_commits(table: Any, call: Any) -> None:
    few = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    small = hoodoo.open(table.path, few)
    for x in range(6):
        small.upsert([{"id": 0, "city": "oslo", "x": x}])
    small.compact()
    small.clean("KEEP_LATEST_COMMITS", commits_retained=1)
    small.archive()
    gone = call("show_archived_commits(table => 't', limit => 100)")
    assert gone and gone[0][0] > gone[-1][0]
    begin = gone[0][0]
    assert [r[0] for r in call(f"show_archived_commits('t', start_ts => '{begin}')")] == [begin]
    last = gone[-1][0]
    metadata = call(f"show_archived_commits_metadata(table => 't', end_ts => '{last}')")
    assert {row[0] for row in metadata} == {last}
    shown = call("show_timeline(table => 't', limit => 100, showArchived => true)")
    assert {row[6] for row in shown} == {"ACTIVE", "ARCHIVED"}


def test_services_that_ran(table: Any, call: Any) -> None:
    ((planned, size, _),) = call("run_compaction(op => 'schedule', table => 't')")
    assert call("show_compaction(table => 't')") == [(planned, 2, "REQUESTED")] and size == 2
    scheduled = call("show_fsview_latest(table => 't', partition_path => 'oslo')")
    assert [(row[0], row[5], row[7] == row[6], row[8]) for row in scheduled] == [
        ("oslo", 1, True, 0)
    ]
    call("run_compaction(op => 'execute', table => 't')")
    assert call("show_compaction(table => 't')") == [(planned, 2, "COMPLETED")]
    ((clustered, *_),) = call("run_clustering(table => 't', op => 'schedule', order => 'x')")
    assert call("show_clustering(table => 't')")[0][:3] == (clustered, 2, "REQUESTED")
    ((gone, _),) = call(
        f"run_rollback_inflight_tableservice('t', pending_instant => '{clustered}')"
    )
    assert gone == clustered and call("show_clustering(table => 't')") == []
    call("run_clustering(table => 't', order => 'x')")
    shown = call("show_clustering(table => 't', show_involved_partition => true)")
    assert [row[1:] for row in shown] == [(2, "COMPLETED", "oslo,rome")]
    call("run_clean('t', clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1)")
    ((cleaned, _, action, _, _, count, *_),) = call("show_cleans(table => 't')")
    paths = call("show_cleans_metadata(table => 't')")
    assert action == "clean" and {row[4] for row in paths} == {"oslo", "rome"}
    assert sum(row[7] for row in paths) == count
    ((plan, _, _, _, _, policy, _, paths_of_plan, _, _),) = call("show_clean_plans(table => 't')")
    assert (plan, policy, paths_of_plan) == (cleaned, "KEEP_LATEST_FILE_VERSIONS", 2)


def test_files(table: Any, call: Any, tmp_path: Path) -> None:
    every = call("show_fsview_all(table => 't', path_regex => 'o.*')")
    assert [row[0] for row in every] == ["oslo"] and every[0][3].endswith(".parquet")
    ((folders, files, size, shown, path, *_),) = call(f"show_fs_path_detail('{tmp_path}/t')")
    on_disk = [one for one in (tmp_path / "t").rglob("*") if one.is_file()]
    assert (files, size) == (len(on_disk), sum(one.stat().st_size for one in on_disk))
    assert folders > 3 and shown.endswith("KB") and path.endswith("/t")
    inner = call(f"show_fs_path_detail(path => '{tmp_path}/t', is_sub => true)")
    assert {row[4].rpartition("/")[2] for row in inner} == {".hoodie", "oslo", "rome"}
    (tmp_path / "t" / "oslo" / "bad.parquet").write_bytes(b"PAR1")
    ((bad,),) = call(f"show_invalid_parquet(path => '{tmp_path}/t')")
    assert bad.endswith("/oslo/bad.parquet")


def test_the_metadata_table(table: Any, call: Any) -> None:
    with pytest.raises(ConfigError, match="has no metadata table.*create_metadata_table"):
        call("show_metadata_table_partitions(table => 't')")
    assert "files" in call("create_metadata_table(table => 't')")[0][0]
    assert call("show_metadata_table_partitions(table => 't')") == [("oslo",), ("rome",)]
    names = call("show_metadata_table_files(table => 't', partition => 'oslo')")
    assert sorted(name.endswith(".parquet") for (name,) in names) == [False, True]
    table.create_index("by_x", ["x"])
    call("delete_metadata_table(table => 't')")
    assert hoodoo.open(table.path).indexes() == ()


def test_versions_of_the_table(table: Any, call: Any) -> None:
    assert call("downgrade_table(table => 't', to_version => 'EIGHT')") == [(True,)]
    assert hoodoo.open(table.path).config.version == 8
    assert call("upgrade_table(table => 't', to_version => '9')") == [(True,)]
    with pytest.raises(ConfigError, match="is no table version.*NINE"):
        call("upgrade_table(table => 't', to_version => 'TEN')")


def test_rows_go(table: Any, call: Any) -> None:
    assert call("drop_partition(table => 't', partition => 'oslo')") == [("Success",)]
    assert table.count() == 2
    assert call("truncate_table(table => 't', partitions => 'rome')")[0][0] == "SUCCESS"
    table.upsert([{"id": 1, "city": "oslo", "x": 1}])
    call("truncate_table(table => 't')")
    assert table.count() == 0


def test_copies(table: Any, call: Any) -> None:
    first = table.timeline().writes()[0].requested
    assert call("copy_to_table(table => 't', new_table => 'one')") == [(0,)]
    call("copy_to_table('t', new_table => 'one', save_mode => 'append', columns => 'id,city,x')")
    call("copy_to_table(table => 't', new_table => 'one', save_mode => 'ignore')")
    call(f"copy_to_temp_view(table => 't', view_name => 'old', as_of_instant => '{first}')")
    call(f"copy_to_temp_view('t', 'incremental', 'new', begin_instance_time => '{first}')")
    call("copy_to_temp_view('one', 'read_optimized', 'new', replace => true)")
    for wrong in (
        "copy_to_temp_view(table => 't', view_name => 'old')",
        "copy_to_temp_view('t', 'none', 'newer')",
        "copy_to_table(table => 't', new_table => 'one', save_mode => 'errorifexists')",
        "copy_to_table(table => 't', new_table => 'one', save_mode => 'perhaps')",
    ):
        with pytest.raises(ConfigError):
            call(wrong)


def test_help_and_what_is_elsewhere(call: Any) -> None:
    assert call("help()")[0][0].splitlines() == list(PROCEDURES)
    text = call("help(cmd => 'show_timeline')")[0][0]
    assert "showArchived\tFalse\tfalse" in text and "rollback_info\tstring" in text
    assert not PROCEDURES.keys() & ELSEWHERE.keys()
    for name, fix in ELSEWHERE.items():
        with pytest.raises(ConfigError) as raised:
            call(f"{name}(table => 't')")
        assert raised.value.fix == fix


@pytest.mark.parametrize("wrong", ["action ==== 1", "nothing = 1", "rand() > 0.5"])
def test_filters_that_are_none(call: Any, wrong: str) -> None:
    with pytest.raises(HoodooError):
        call(f"show_timeline(table => 't', filter => '{wrong}')")
