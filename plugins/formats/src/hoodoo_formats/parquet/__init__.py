"""Parquet base files: read by row groups, written with the footer that Hudi's readers look for."""
