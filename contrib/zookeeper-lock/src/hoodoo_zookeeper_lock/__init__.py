"""Hudi's lock in ZooKeeper."""

from __future__ import annotations

__version__ = "0.2.0"
