"""What hoodoo-blob offers. Functions are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo.options import NAMES, Option

FOLDERS = Option(
    "hoodoo.blob.folders",
    "Folders or URIs, separated by commas, whose files read_blob may read, beside the table's own: "
    "a reference is data, which whoever writes rows chooses.",
    kind=NAMES,
)


@hookimpl
def hoodoo_logical_types() -> Iterable[Registration]:
    return [
        Registration(
            "blob",
            "hoodoo_blob.blob:Blob.from_settings",
            summary="BLOB: bytes in the table, or a reference to a file that has them.",
        )
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration("blob", "hoodoo_blob.blob:blob", summary="The Arrow type of BLOB."),
        Registration(
            "Scan.read_blob",
            "hoodoo_blob.bytes_of:scan_read_blob",
            options=(FOLDERS,),
            summary="Rows with the bytes of blobs, in the table and in files.",
            verbs={
                "read_blob": "hoodoo_blob.bytes_of:read_blob",
                "blob_bytes": "hoodoo_blob.bytes_of:blob_bytes",
            },
        ),
    ]
