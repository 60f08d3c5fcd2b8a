"""The families that hoodoo-cli works with, and brings: checks of ``hoodoo doctor``, decoders of
``hoodoo inspect``."""

from __future__ import annotations

from hoodoo_cli.hookspecs.check import FAMILY as CHECK
from hoodoo_cli.hookspecs.inspector import FAMILY as INSPECTOR

__all__ = ["CHECK", "INSPECTOR"]
