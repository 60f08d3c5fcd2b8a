"""What hoodoo-standard offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs.creation import Found, NewTable
from hoodoo.hookspecs.index import ANYWHERE, HUDI_READS
from hoodoo.hookspecs.layout import NEW_FILES
from hoodoo.hookspecs.observer import Event
from hoodoo.hookspecs.registration import Registration, Settings
from hoodoo.model.config import TableConfig
from hoodoo.options.write import SERIALIZER
from hoodoo.storage.api import Storage

from hoodoo_standard import options

_KEYGEN = "org.apache.hudi.keygen."
_INDEX = "org.apache.hudi.index."
_MODEL = "org.apache.hudi.common.model."
_TRANSACTION = "org.apache.hudi.client.transaction."
_INFERRED = "hoodoo_standard.keygen.inferred"


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {"key_filters": "hoodoo_standard.hookspecs:KEY_FILTERS"}


@hookimpl
def hoodoo_storages() -> Iterable[Registration]:
    return [
        Registration(
            "file",
            "hoodoo_standard.storage.local:LocalStorage.from_settings",
            ("", "local"),
            summary="Files of this host, or of a file system mounted on all of them.",
        )
    ]


@hookimpl
def hoodoo_engines() -> Iterable[Registration]:
    return [
        Registration(
            "local",
            "hoodoo_standard.engine.local:LocalEngine.from_settings",
            options=(options.THREADS,),
            summary="Threads of this process: no JVM, for tests, notebooks and small tables.",
            default=True,
        )
    ]


@hookimpl
def hoodoo_key_generators() -> Iterable[Registration]:
    return [
        Registration(
            "SIMPLE",
            "hoodoo_standard.keygen.simple:SimpleKeyGenerator.from_settings",
            ("SIMPLE_AVRO", f"{_KEYGEN}SimpleKeyGenerator", f"{_KEYGEN}SimpleAvroKeyGenerator"),
            (*options.KEYS, options.SLASH_DATES),
            "one record key column, one partition column",
            default=f"{_INFERRED}:is_simple",
        ),
        Registration(
            "COMPLEX",
            "hoodoo_standard.keygen.complex:ComplexKeyGenerator.from_settings",
            ("COMPLEX_AVRO", f"{_KEYGEN}ComplexKeyGenerator", f"{_KEYGEN}ComplexAvroKeyGenerator"),
            (*options.KEYS, options.SLASH_DATES, options.COMPLEX_ENCODING),
            "several record key or partition columns",
            default=f"{_INFERRED}:is_complex",
        ),
        Registration(
            "NON_PARTITION",
            "hoodoo_standard.keygen.nonpartitioned:NonPartitionedKeyGenerator.from_settings",
            (
                "NON_PARTITION_AVRO",
                f"{_KEYGEN}NonpartitionedKeyGenerator",
                f"{_KEYGEN}NonpartitionedAvroKeyGenerator",
            ),
            (options.LOGICAL_TIMESTAMPS,),
            "record key columns, no partitions",
            default=f"{_INFERRED}:is_unpartitioned",
        ),
        Registration(
            "TIMESTAMP",
            "hoodoo_standard.keygen.timestamp:TimestampKeyGenerator.from_settings",
            (
                "TIMESTAMP_AVRO",
                f"{_KEYGEN}TimestampBasedKeyGenerator",
                f"{_KEYGEN}TimestampBasedAvroKeyGenerator",
            ),
            (*options.KEYS, *options.TIMES, options.VIRTUAL_BY_HOODOO),
            "one record key column, one partition column of times",
        ),
        Registration(
            "CUSTOM",
            "hoodoo_standard.keygen.custom:CustomKeyGenerator.from_settings",
            ("CUSTOM_AVRO", f"{_KEYGEN}CustomKeyGenerator", f"{_KEYGEN}CustomAvroKeyGenerator"),
            (*options.KEYS, *options.TIMES, options.PARTITION_TYPES, options.VIRTUAL_BY_HOODOO),
            "partition columns that are column:SIMPLE or column:TIMESTAMP",
            default=f"{_INFERRED}:is_typed",
        ),
        Registration(
            "GLOBAL_DELETE",
            "hoodoo_standard.keygen.global_delete:GlobalDeleteKeyGenerator.from_settings",
            (
                "GLOBAL_DELETE_AVRO",
                f"{_KEYGEN}GlobalDeleteKeyGenerator",
                f"{_KEYGEN}GlobalAvroDeleteKeyGenerator",
            ),
            (options.LOGICAL_TIMESTAMPS,),
            "deletes by key in any partition path",
        ),
        Registration(
            "CONCATENATED",
            "hoodoo_standard.keygen.concatenated:ConcatenatedKeyGenerator.from_settings",
            (),
            options.KEYS,
            "record key columns and a concatenator (RFC-21)",
        ),
    ]


@hookimpl
def hoodoo_mergers() -> Iterable[Registration]:
    from hoodoo_standard.payloads import PAYLOADS

    classes = [
        Registration(
            payload.name,
            f"hoodoo_standard.merge.of_table:{payload.name}",
            (payload.java,),
            options=options.MERGING,
            summary=payload.summary,
        )
        for payload in PAYLOADS
    ]
    return [
        *classes,
        Registration(
            "commit_time",
            "hoodoo_standard.merge.of_table:commit_time",
            (
                "COMMIT_TIME_ORDERING",
                "ce9acb64-bde0-424c-9b91-f6ebba25356d",
                f"{_MODEL}OverwriteWithLatestAvroPayload",
            ),
            options=options.MERGING,
            summary="the row that arrived later wins",
            default=lambda settings: not settings.table.ordering_fields,
        ),
        Registration(
            "event_time",
            "hoodoo_standard.merge.of_table:event_time",
            (
                "EVENT_TIME_ORDERING",
                "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
                f"{_MODEL}DefaultHoodieRecordPayload",
                f"{_MODEL}EventTimeAvroPayload",
            ),
            options=options.MERGING,
            summary="the row with the higher ordering value wins",
            default=lambda settings: bool(settings.table.ordering_fields),
        ),
        Registration(
            "partial",
            "hoodoo_standard.merge.of_table:partial_columns",
            options=options.MERGING,
            summary="columns that the data lacks keep their stored values",
        ),
    ]


@hookimpl
def hoodoo_indexes() -> Iterable[Registration]:
    return [
        Registration(
            "simple",
            "hoodoo_standard.index.simple:SimpleIndex.from_settings",
            (f"{_INDEX}simple.HoodieSimpleIndex",),
            (options.SIDE_BYTES,),
            "reads the stored keys of the partitions that are written",
            default=True,
        ),
        Registration(
            "global_simple",
            "hoodoo_standard.index.simple:global_from_settings",
            (f"{_INDEX}simple.HoodieGlobalSimpleIndex",),
            (options.SIDE_BYTES, options.MOVES),
            "reads the stored keys of the whole table",
            roles=(ANYWHERE, HUDI_READS),
        ),
        Registration(
            "bloom",
            "hoodoo_standard.index.bloom:BloomIndex.from_settings",
            (f"{_INDEX}bloom.HoodieBloomIndex",),
            options.BLOOM,
            "reads the keys of files whose bloom filter may have them",
        ),
        Registration(
            "global_bloom",
            "hoodoo_standard.index.bloom:global_from_settings",
            (f"{_INDEX}bloom.HoodieGlobalBloomIndex",),
            (*options.BLOOM, options.BLOOM_MOVES),
            "the same in the whole table",
            roles=(HUDI_READS,),
        ),
        Registration(
            "bucket",
            "hoodoo_standard.index.bucket:by_engine",
            (f"{_INDEX}bucket.HoodieSimpleBucketIndex",),
            options.BUCKET,
            "the file group follows from a hash of the key",
            roles=(HUDI_READS,),
        ),
        Registration(
            "tee",
            "hoodoo_standard.index.tee:from_settings",
            options=(options.TEE,),
            summary="asks two indexes and tells where they differ",
        ),
    ]


@hookimpl
def hoodoo_layouts() -> Iterable[Registration]:
    return [
        Registration(
            "small_file",
            "hoodoo_standard.layout.small_file:SmallFileLayout.from_settings",
            options=options.SIZES,
            summary="fills small base files first",
            default=True,
        ),
        Registration(
            "new_files",
            "hoodoo_standard.layout.new_files:NewFilesLayout.from_settings",
            options=options.SIZES,
            summary="never touches an existing file",
            roles=(NEW_FILES,),
        ),
    ]


@hookimpl
def hoodoo_serializers() -> Iterable[Registration]:
    return [
        Registration(
            "arrow",
            "hoodoo_standard.serialize.packed:ArrowSerializer.from_settings",
            options=(SERIALIZER,),
            summary="Packed record batches, as they lie in memory.",
            default=True,
        ),
        Registration(
            "avro",
            "hoodoo_standard.serialize.avro:AvroSerializer.from_settings",
            summary="a generic Avro record of each row: slow, to compare with",
        ),
        Registration(
            "pickle",
            "hoodoo_standard.serialize.pickled:PickleSerializer.from_settings",
            summary="a Python object of each row: slow, to compare with",
        ),
    ]


@hookimpl
def hoodoo_conflicts() -> Iterable[Registration]:
    module = "hoodoo_standard.conflict.strategies"
    return [
        Registration(
            "file_groups",
            f"{module}:FileGroups.from_settings",
            (
                f"{_TRANSACTION}SimpleConcurrentFileWritesConflictResolutionStrategy",
                f"{_TRANSACTION}BucketIndexConcurrentFileWritesConflictResolutionStrategy",
            ),
            (options.CONCURRENCY,),
            summary="no two writes to one file group",
            default=lambda settings: not _is_non_blocking(settings),
        ),
        Registration(
            "log_appends",
            f"{module}:LogAppends.from_settings",
            (options.NON_BLOCKING,),
            (options.CONCURRENCY,),
            summary="log files of several writes may stand in one file group",
            default=_is_non_blocking,
        ),
        Registration(
            "prefer_writer",
            f"{module}:PreferWriter.from_settings",
            (f"{_TRANSACTION}PreferWriterConflictResolutionStrategy",),
            summary="compaction and clustering give way to writes",
        ),
    ]


@hookimpl
def hoodoo_locks() -> Iterable[Registration]:
    module = "hoodoo_standard.lock"
    return [
        Registration(
            "in_process",
            f"{module}.in_process:InProcessLock.from_settings",
            (f"{_TRANSACTION}lock.InProcessLockProvider",),
            summary="the threads of one process",
        ),
        Registration(
            "filesystem",
            f"{module}.filesystem:FilesystemLock.from_settings",
            (f"{_TRANSACTION}lock.FileSystemBasedLockProvider",),
            (options.LOCK_PATH, options.LOCK_EXPIRE),
            "Hudi's lock file, beside Spark writers",
        ),
        Registration(
            "conditional_put",
            f"{module}.conditional_put:ConditionalPutLock.from_settings",
            (),
            (options.LOCK_RENEW, options.LOCK_VALIDITY),
            "numbered files, taken over from the dead",
        ),
        Registration(
            "flock",
            f"{module}.flock:FlockLock.from_settings",
            (),
            (options.LOCK_RENEW, options.LOCK_VALIDITY),
            "the system's lock on a local file; elsewhere as conditional_put",
            default=True,
        ),
    ]


@hookimpl
def hoodoo_new_table(wanted: NewTable) -> TableConfig:
    from hoodoo_standard.creation.properties import new_config

    return new_config(wanted)


@hookimpl
def hoodoo_instead(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    from hoodoo_standard.creation.foreign import found_at

    return found_at(storage, at)


@hookimpl
def hoodoo_event(event: Event) -> None:
    from hoodoo_standard.log import log_event

    log_event(event)


def _is_non_blocking(settings: Settings) -> bool:
    return options.CONCURRENCY.read(settings.options) == options.NON_BLOCKING


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "learning_indexes",
            "hoodoo_standard.index.learning:LearningIndexes.from_settings",
            summary="indexes that learn what is written, of any plugin",
        ),
        Registration(
            "bucket_rows",
            "hoodoo_standard.index.bucket_rows:BucketRowsParticipant.from_settings",
            summary="what programs that know no buckets put into a table with a bucket index",
        ),
    ]


@hookimpl
def hoodoo_pruners() -> Iterable[Registration]:
    return [
        Registration(
            "by_bucket",
            "hoodoo_standard.index.bucket_pruner:BucketPruner.from_settings",
            summary="the buckets of the record keys that a filter asks for",
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_checks() -> Iterable[Registration]:
    return [
        Registration(
            "local",
            "hoodoo_standard.check:LocalCheck.from_settings",
            summary="space, permissions, a lock file that nobody holds",
        )
    ]
