"""The archived timeline in its two forms: a tree of Parquet files (layout 2), a log (layout 1)."""
