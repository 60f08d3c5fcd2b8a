"""Commit callback: an HTTP call after each commit."""

from __future__ import annotations

__version__ = "0.2.0"
