"""A base file format for Hoodoo: Lance files, as Hudi 1.2 writes them."""

from __future__ import annotations

# No format here: discovery imports the package in every process.
__version__ = "1.0.0"
