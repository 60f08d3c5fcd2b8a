"""A serializer for Hoodoo: Arrow IPC compressed with LZ4."""

from __future__ import annotations

from hoodoo_lz4_serializer.messages import Lz4Serializer

__version__ = "1.0.0"

__all__ = ["Lz4Serializer", "__version__"]
