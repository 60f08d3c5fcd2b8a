"""What hoodoo-types offers. Functions are named, not imported, so that discovery stays cheap."""

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
            "vector",
            "hoodoo_types.vector:Vector.from_settings",
            summary="VECTOR: numbers of a fixed length, such as embeddings.",
        ),
        Registration(
            "blob",
            "hoodoo_types.blob:Blob.from_settings",
            summary="BLOB: bytes in the table, or a reference to a file that has them.",
        ),
        Registration(
            "variant",
            "hoodoo_types.variant:Variant.from_settings",
            aliases=("arrow.parquet.variant",),
            summary="VARIANT: a value of any type, such as what JSON holds.",
        ),
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "vector", "hoodoo_types.arrow:vector", summary="The Arrow type of VECTOR(dimension)."
        ),
        Registration("blob", "hoodoo_types.arrow:blob", summary="The Arrow type of BLOB."),
        Registration(
            "Scan.read_blob",
            "hoodoo_types.bytes_of:scan_read_blob",
            options=(FOLDERS,),
            summary="Rows with the bytes of blobs, in the table and in files.",
            verbs={
                "read_blob": "hoodoo_types.bytes_of:read_blob",
                "blob_bytes": "hoodoo_types.bytes_of:blob_bytes",
            },
        ),
        Registration(
            "variant", "hoodoo_types.variants.arrow:variant", summary="The Arrow type of VARIANT."
        ),
        Registration(
            "variants",
            "hoodoo_types.variants.arrow:variants",
            summary="Variants of Python objects or JSON text, and these of variants.",
        ),
    ]
