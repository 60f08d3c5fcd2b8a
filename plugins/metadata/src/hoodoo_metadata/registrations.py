"""What hoodoo-metadata offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs.registration import Registration

from hoodoo_metadata import options


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {
        "metadata_partition": "hoodoo_metadata.hookspecs:METADATA_PARTITION",
        "index_hash": "hoodoo_metadata.hookspecs:INDEX_HASH",
    }


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "metadata_table",
            "hoodoo_metadata.participant:MetadataParticipant.from_settings",
            options=options.METADATA_OPTIONS,
            summary="keeps the metadata table: files, ranges of columns, record indexes",
            verbs={
                "compact_metadata": "hoodoo_metadata.verbs:compact_metadata",
                "create_index": "hoodoo_metadata.life.indexes:create_index",
                "drop_index": "hoodoo_metadata.verbs:drop_index",
                "indexes": "hoodoo_metadata.life.indexes:indexes",
            },
        )
    ]


@hookimpl
def hoodoo_query_types() -> Iterable[Registration]:
    return [
        Registration(
            "location_changes",
            "hoodoo_metadata.partitions.record_index.location_changes"
            ":LocationChanges.from_settings",
            summary="Where record keys came to lie, and which went, in a stretch of the timeline: "
            "by a record index.",
            verbs={"location_changes": "hoodoo_metadata.verbs:location_changes"},
        )
    ]


@hookimpl
def hoodoo_pruners() -> Iterable[Registration]:
    return [
        Registration(
            "by_partition_path",
            "hoodoo_metadata.path_pruner:PathPruner.from_settings",
            summary="the partition paths of the values that a filter asks for; by the metadata "
            "table, all that fit",
        ),
        Registration(
            "by_record_index",
            "hoodoo_metadata.pruners:KeyPruner.from_settings",
            summary="the file groups of the record keys that a filter asks for, by the record "
            "index",
        ),
        Registration(
            "by_column_stats",
            "hoodoo_metadata.pruners:RangePruner.from_settings",
            summary="the files whose ranges of columns let a filter be true, by the metadata table",
        ),
    ]


@hookimpl(optionalhook=True)
def hoodoo_key_filters() -> Iterable[Registration]:
    return [
        Registration(
            "metadata_table",
            "hoodoo_metadata.partitions.bloom.lookup:MetadataFilters.from_settings",
            summary="those of the partition bloom_filters of the metadata table",
        )
    ]


@hookimpl
def hoodoo_indexes() -> Iterable[Registration]:
    return [
        Registration(
            "record_index",
            "hoodoo_metadata.partitions.record_index.lookup_index:RecordLevelIndex.from_settings",
            (
                "global_record_level_index",
                "org.apache.hudi.index.SparkMetadataTableRecordIndex",
                "org.apache.hudi.index.SparkMetadataTableGlobalRecordLevelIndex",
            ),
            (options.RECORD_MOVES, *options.LOOKUP_OPTIONS),
            "asks the metadata table, which knows where every key lies",
        ),
        Registration(
            "partitioned_record_index",
            "hoodoo_metadata.partitions.record_index.lookup_index:partitioned_from_settings",
            (
                "record_level_index",
                "org.apache.hudi.index.SparkMetadataTablePartitionedRecordLevelIndex",
            ),
            options.LOOKUP_OPTIONS,
            "the same, where a key may lie once in each partition path",
        ),
        Registration(
            "growing_record_index",
            "hoodoo_metadata.partitions.record_index.growing_index:GrowingIndex.from_settings",
            options=(*options.GROWING_OPTIONS, options.RECORD_MOVES, *options.LOOKUP_OPTIONS),
            summary="a record index whose buckets get more file groups; Hoodoo alone keeps it",
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "rebuild-index",
            "hoodoo_metadata.commands.rebuild_index:rebuild_index",
            summary="Rebuild the metadata table from the table's files, or one partition of it.",
        ),
        Registration(
            "drop-index",
            "hoodoo_metadata.commands.rebuild_index:drop_index",
            summary="Drop a partition of the metadata table, or the index that it holds.",
        ),
        Registration(
            "compact-metadata",
            "hoodoo_metadata.commands.rebuild_index:compact_metadata",
            summary="Merge the log files of the metadata table into new base files.",
        ),
    ]


@hookimpl
def hoodoo_index_hashes() -> Iterable[Registration]:
    return [
        Registration(
            "java",
            "hoodoo_metadata.partitions.record_index.hashes:JavaHash.from_settings",
            summary="the hash of Hudi's record index",
        ),
        Registration(
            "mixed",
            "hoodoo_metadata.partitions.record_index.hashes:MixedHash.from_settings",
            summary="the same with its bits mixed, for short or similar keys",
        ),
    ]


@hookimpl(optionalhook=True)
def hoodoo_checks() -> Iterable[Registration]:
    return [
        Registration(
            "metadata",
            "hoodoo_metadata.life.check:MetadataCheck.from_settings",
            summary="whether the metadata table knows the newest commits",
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_inspectors() -> Iterable[Registration]:
    return [
        Registration(
            "hfile",
            "hoodoo_metadata.inspector:HFileInspector.from_settings",
            summary="HFiles, the base files of the metadata table",
        )
    ]
