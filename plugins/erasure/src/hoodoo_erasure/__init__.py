"""Erasure: rows go from all files of a table, and a report proves it.

``erase``: the order of the steps; ``contents``: what is in a file, decoded; ``proof``: all files
are looked through; ``report``: what came of it, with its signature."""

from __future__ import annotations

__version__ = "0.2.0"
