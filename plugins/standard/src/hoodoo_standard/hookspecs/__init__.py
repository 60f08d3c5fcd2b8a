"""The family that hoodoo-standard works with, and brings: who stores filters of record keys."""

from __future__ import annotations

from hoodoo_standard.hookspecs.key_filters import FAMILY as KEY_FILTERS

__all__ = ["KEY_FILTERS"]
