"""Bucket indexes whose buckets are split and merged: consistent hashing, as Hudi has it."""

__version__ = "0.2.0"
