"""Metrics for Prometheus of what Hoodoo does to tables."""

from __future__ import annotations

__version__ = "1.0.0"
