"""The families that hoodoo-services works with, and brings: strategies of compaction, policies of
cleaning."""

from __future__ import annotations

from hoodoo_services.hookspecs import rules  # noqa: F401
from hoodoo_services.hookspecs.cleaning import FAMILY as CLEANING
from hoodoo_services.hookspecs.compaction import FAMILY as COMPACTION

__all__ = ["CLEANING", "COMPACTION"]
