"""Validators: checks of the rows that a write is about to commit."""

from __future__ import annotations

__version__ = "0.2.0"
