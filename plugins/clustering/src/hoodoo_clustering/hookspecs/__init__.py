"""The families that hoodoo-clustering works with, and brings: where it looks, which slices are
rewritten together, in which order."""

from __future__ import annotations

from hoodoo_clustering.hookspecs import rules  # noqa: F401
from hoodoo_clustering.hookspecs.clustering import ORDERS, PLANS
from hoodoo_clustering.hookspecs.partition_filter import FAMILY as FILTERS

__all__ = ["FILTERS", "ORDERS", "PLANS"]
