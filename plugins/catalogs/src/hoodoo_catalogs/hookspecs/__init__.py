"""The family that hoodoo-catalogs works with, and brings: catalogs."""

from __future__ import annotations

from hoodoo_catalogs.hookspecs.catalog import FAMILY as CATALOG

__all__ = ["CATALOG"]
