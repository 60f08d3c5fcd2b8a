"""Hudi's bootstrap: a table over Parquet files that stay where they are.

``records``: what its index stores; ``index``: the index; ``zipped``, ``format``: base files whose
rows lie in two files; ``folder``: the source; ``modes``: what becomes of each of its folders;
``skeletons``: files of the table that are made of a source file; ``run``: the function."""

from __future__ import annotations

__version__ = "0.2.0"
