"""The family that hoodoo-ingest works with, and brings: sources."""

from __future__ import annotations

from hoodoo_ingest.hookspecs.source import FAMILY as SOURCE

__all__ = ["SOURCE"]
