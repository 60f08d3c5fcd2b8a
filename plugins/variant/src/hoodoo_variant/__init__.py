"""Parquet's binary encoding of variants (VariantEncoding.md), and how it is shredded
(VariantShredding.md).

``encode`` and ``decode``: one value, from and to Python objects and JSON text; ``wellformed``:
checks of a column without a loop over its rows; ``shredded``: values that files store in typed
columns."""
