"""The family that hoodoo-vectors works with, and brings: indexes of vectors."""

from __future__ import annotations

from hoodoo_vectors.hookspecs.vector_index import FAMILY as VECTOR_INDEX

__all__ = ["VECTOR_INDEX"]
