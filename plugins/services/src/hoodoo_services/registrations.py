"""What hoodoo-services offers: the actions, and the strategies and policies that decide in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_services import options

_COMPACT = "org.apache.hudi.table.action.compact.strategy."


def _verbs(*names: str) -> dict[str, str]:
    return {name: f"hoodoo_services.verbs:{name}" for name in names}


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {
        "compaction": "hoodoo_services.hookspecs:COMPACTION",
        "cleaning": "hoodoo_services.hookspecs:CLEANING",
    }


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "compaction",
            "hoodoo_services.compaction.action:CompactionAction.from_settings",
            options=options.COMPACTION_OPTIONS,
            summary="log files become base files",
            verbs=_verbs(
                "compact",
                "schedule_compaction",
                "schedule_compact",
                "run_compaction",
                "run_compact",
            ),
        ),
        Registration(
            "logcompaction",
            "hoodoo_services.compaction.action:LogCompactionAction.from_settings",
            options=options.LOG_COMPACTION_OPTIONS,
            summary="log files become fewer log files",
        ),
        Registration(
            "clean",
            "hoodoo_services.clean.action:CleanAction.from_settings",
            options=options.CLEAN_OPTIONS,
            summary="files that nobody needs are deleted",
            verbs=_verbs("clean", "vacuum", "schedule_clean", "run_clean"),
        ),
        Registration(
            "archive",
            "hoodoo_services.archive.action:ArchiveAction.from_settings",
            options=options.ARCHIVE_OPTIONS,
            summary="old instants move into the archived timeline",
            verbs=_verbs("archive"),
            check="hoodoo_services.archive.settings:ArchiveSettings.of",
        ),
        Registration(
            "restore",
            "hoodoo_services.restore.action:RestoreAction.from_settings",
            summary="the table becomes what it was at a point",
            verbs=_verbs("restore", "schedule_restore", "run_restore", "check_restore"),
        ),
        Registration(
            "savepoint",
            "hoodoo_services.savepoint:SavepointAction.from_settings",
            summary="a write and its files stay until the savepoint is deleted",
            verbs=_verbs("savepoint", "delete_savepoint", "savepoints"),
        ),
        Registration(
            "rewrite",
            "hoodoo_services.rewrite:RewriteAction.from_settings",
            summary="file groups get new base files of the same rows",
            verbs=_verbs("rewrite"),
        ),
        Registration(
            "rewrite_keys",
            "hoodoo_services.rewrite_keys:RewriteKeysAction.from_settings",
            summary="files stop to store record keys, or store them again",
            verbs=_verbs("enable_virtual_keys", "rewrite_keys"),
        ),
        Registration(
            "rewrite_groups",
            "hoodoo_services.rewrite_groups:RewriteGroups.from_settings",
            summary="file groups get new base files with the same rows",
        ),
        Registration(
            "rebuild_index",
            "hoodoo_services.indexes.actions:RebuildIndex.from_settings",
            summary="what participants store of a table is rebuilt from its files",
            verbs=_verbs("rebuild_index"),
        ),
        Registration(
            "switch_index",
            "hoodoo_services.indexes.actions:SwitchIndex.from_settings",
            summary="the table gets another index, once it is proven to fit the rows",
            verbs=_verbs("switch_index"),
        ),
        Registration(
            "compare_indexes",
            "hoodoo_services.indexes.actions:CompareIndexes.from_settings",
            summary="where two indexes differ in what they say of keys",
            verbs=_verbs("compare_indexes"),
        ),
        Registration(
            "check_index",
            "hoodoo_services.indexes.checking:CheckIndex.from_settings",
            summary="whether an index knows where rows are, of all keys or a sample",
        ),
        Registration(
            "locate_keys",
            "hoodoo_services.indexes.locating:LocateKeys.from_settings",
            summary="where the rows of some keys lie, now or at an older moment",
            verbs=_verbs("locate"),
        ),
    ]


@hookimpl
def hoodoo_archived_timelines() -> Iterable[Registration]:
    return [
        Registration(
            "layout_1",
            "hoodoo_services.archived.log_files:ArchiveLog.from_settings",
            summary="of tables of version 6: a log of entries",
        ),
        Registration(
            "layout_2",
            "hoodoo_services.archived.history:HistoryTree.from_settings",
            summary="of tables of versions 8 and 9: Parquet files that a manifest names",
        ),
    ]


@hookimpl
def hoodoo_compactions() -> Iterable[Registration]:
    module = "hoodoo_services.compaction.strategies"
    return [
        Registration(
            "log_size",
            f"{module}:LogSize.from_settings",
            (f"{_COMPACT}LogFileSizeBasedCompactionStrategy",),
            (options.LOG_SIZE, options.TARGET_IO),
            "the largest log files first",
        ),
        Registration(
            "log_count",
            f"{module}:LogCount.from_settings",
            (f"{_COMPACT}LogFileNumBasedCompactionStrategy",),
            (options.LOG_COUNT, options.TARGET_IO),
            "most log files first",
        ),
        Registration(
            "bounded_io",
            f"{module}:BoundedIO.from_settings",
            (f"{_COMPACT}BoundedIOCompactionStrategy",),
            (options.TARGET_IO,),
            "as much as may be read and written",
        ),
        Registration(
            "day_based",
            f"{module}:DayBased.from_settings",
            (f"{_COMPACT}DayBasedCompactionStrategy",),
            (options.DAYS,),
            "the newest partitions",
        ),
        Registration(
            "unbounded",
            f"{module}:Unbounded.from_settings",
            (f"{_COMPACT}UnBoundedCompactionStrategy",),
            summary="everything that has log files",
        ),
    ]


@hookimpl
def hoodoo_cleanings() -> Iterable[Registration]:
    module = "hoodoo_services.clean.policies"
    return [
        Registration(
            "by_commits",
            f"{module}.by_writes:ByCommits.from_settings",
            ("KEEP_LATEST_COMMITS",),
            (options.COMMITS_RETAINED,),
            "what the last writes made stays",
        ),
        Registration(
            "by_hours",
            f"{module}.by_writes:ByHours.from_settings",
            ("KEEP_LATEST_BY_HOURS",),
            (options.HOURS_RETAINED,),
            "what the writes of the last hours made stays",
        ),
        Registration(
            "by_versions",
            f"{module}.by_versions:ByVersions.from_settings",
            ("KEEP_LATEST_FILE_VERSIONS",),
            (options.VERSIONS_RETAINED,),
            "the newest slices of each file group stay",
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    for name, summary in (
        ("archive", "Move old instants from the active timeline into the archived one."),
        ("clean", "Delete the files that neither readers of the recent past nor a savepoint need."),
        ("compact", "Merge the log files of a merge-on-read table into new base files."),
        ("restore", "Undo everything after INSTANT, permanently."),
        (
            "savepoint",
            "Protect a write and its files from clean and archive; also list and delete "
            "savepoints.",
        ),
    ):
        yield Registration(name, f"hoodoo_services.commands.{name}:{name}", summary=summary)
    for name, summary in (
        ("log-compact", "Merge the log files of each file slice with many of them into one."),
        ("rewrite", "Write existing base files again, with the options that are given."),
        (
            "rewrite-keys",
            "Rewrite the files that still store record keys, so that the keys take no space "
            "(virtual keys).",
        ),
        (
            "enable-virtual-keys",
            "Stop storing record keys in new files: readers make them from the columns of each row "
            "(RFC-21).",
        ),
    ):
        found = name.replace("-", "_")
        yield Registration(name, f"hoodoo_services.commands.{found}:{found}", summary=summary)
