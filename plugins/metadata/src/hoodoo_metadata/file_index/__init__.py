"""Partition ``files``: which files each partition path has."""
