"""What hoodoo-variant offers. Functions are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_logical_types() -> Iterable[Registration]:
    return [
        Registration(
            "variant",
            "hoodoo_variant.variant:Variant.from_settings",
            aliases=("arrow.parquet.variant",),
            summary="VARIANT: a value of any type, such as what JSON holds.",
        )
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "variant", "hoodoo_variant.arrow:variant", summary="The Arrow type of VARIANT."
        ),
        Registration(
            "variants",
            "hoodoo_variant.arrow:variants",
            summary="Variants of Python objects or JSON text, and these of variants.",
        ),
    ]
