"""The type VARIANT of Hudi 1.2: a value of any type, in Parquet's binary encoding of variants
(VariantEncoding.md), shredded (VariantShredding.md) or not.

``variant``: the type; ``arrow``: functions that make it, and its values; ``encode`` and ``decode``:
one value, from and to Python objects and JSON text; ``wellformed``: checks of a column without a
loop over its rows; ``shredded``: values that files store in typed columns."""

from __future__ import annotations

__version__ = "0.2.0"
