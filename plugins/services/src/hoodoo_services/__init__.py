"""What is done to a Hoodoo table besides writing rows: compaction, clean, archive, restore,
savepoint, keys."""

__version__ = "0.2.0"
