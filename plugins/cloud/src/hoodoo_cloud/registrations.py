"""What hoodoo-cloud offers: stores for the URI schemes of object stores, and Hudi's locks of the
cloud."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo_standard.options import LOCK_RENEW, LOCK_VALIDITY

from hoodoo_cloud import options

_STORAGE = "hoodoo_cloud.storage:ObjectStorage.from_settings"


@hookimpl
def hoodoo_storages() -> Iterable[Registration]:
    return [
        Registration(
            "s3",
            _STORAGE,
            ("s3a", "s3n"),
            (*options.COMMON, *options.S3),
            "Amazon S3, and servers that speak its protocol and know conditional puts.",
        ),
        Registration(
            "gs", _STORAGE, (), (*options.COMMON, *options.GOOGLE), "Google Cloud Storage."
        ),
        Registration(
            "abfss",
            _STORAGE,
            ("abfs", "az", "wasbs"),
            (*options.COMMON, *options.AZURE),
            "Azure: blobs, Data Lake Storage.",
        ),
        Registration(
            "memory",
            _STORAGE,
            (),
            options.COMMON,
            "Memory of this process: for trying things out. It ends with the process.",
        ),
        Registration(
            "hdfs",
            "hoodoo_cloud.hdfs:refuse",
            ("viewfs", "webhdfs"),
            summary="Refused, with the reason: nothing there is created only if it is absent.",
        ),
    ]


@hookimpl
def hoodoo_locks() -> Iterable[Registration]:
    return [
        Registration(
            "dynamodb",
            "hoodoo_cloud.locks.dynamodb:DynamoLock.from_settings",
            ("org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",),
            (*options.DYNAMO, *options.S3),
            "Hudi's item in a DynamoDB table, beside Spark writers",
        ),
        Registration(
            "storage_based",
            "hoodoo_cloud.locks.table_lock:StorageLock.from_settings",
            ("org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",),
            (LOCK_RENEW, LOCK_VALIDITY),
            "Hudi's lock file on an object store, beside Spark writers",
        ),
    ]
