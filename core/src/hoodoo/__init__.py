"""Hoodoo: a microkernel for Apache Hudi tables."""

from __future__ import annotations

from hoodoo.hookspecs import hookimpl

__version__ = "0.1.0"

__all__ = ["__version__", "hookimpl"]
