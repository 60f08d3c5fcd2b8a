"""What hoodoo-cloud offers: stores for the URI schemes of object stores."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_cloud import options

_STORAGE = "hoodoo_cloud.storage:ObjectStorage.from_settings"


@hookimpl
def hoodoo_storages() -> Iterable[Registration]:
    return [
        Registration(
            "s3", _STORAGE, ("s3a", "s3n"), (*options.COMMON, *options.S3),
            "Amazon S3, and servers that speak its protocol and know conditional puts.",
        ),
        Registration(
            "gs", _STORAGE, (), (*options.COMMON, *options.GOOGLE), "Google Cloud Storage."
        ),
        Registration(
            "abfss", _STORAGE, ("abfs", "az", "wasbs"), (*options.COMMON, *options.AZURE),
            "Azure: blobs, Data Lake Storage.",
        ),
        Registration(
            "memory", _STORAGE, (), options.COMMON,
            "Memory of this process: for trying things out. It ends with the process.",
        ),
    ]  # fmt: skip
