"""An action for Hoodoo: partitions that are older than some days are dropped."""

from __future__ import annotations

__version__ = "1.0.0"
