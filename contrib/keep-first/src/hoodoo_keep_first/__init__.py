"""A merger for Hoodoo: the row of a key that was written first stays."""

from __future__ import annotations

from hoodoo_keep_first.merger import KeepFirst

__version__ = "1.0.0"

__all__ = ["KeepFirst", "__version__"]
