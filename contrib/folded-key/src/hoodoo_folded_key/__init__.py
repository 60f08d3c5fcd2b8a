"""A key generator for Hoodoo: text keys that do not depend on upper or lower case."""

from __future__ import annotations

from hoodoo_folded_key.generator import FoldedKey

__version__ = "1.0.0"

__all__ = ["FoldedKey", "__version__"]
