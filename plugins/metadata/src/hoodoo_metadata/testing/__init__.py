"""Contract suites for authors of metadata partitions and hashes of record keys: inherit one, and
give it your plugin."""
