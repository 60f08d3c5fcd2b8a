"""The family that hoodoo-cli works with, and brings: checks of ``hoodoo doctor``."""

from __future__ import annotations

from hoodoo_cli.hookspecs.check import FAMILY as CHECK

__all__ = ["CHECK"]
