"""How cost grows: by files, commits, partitions, columns and rows of a batch. ``tox -e scale``."""
