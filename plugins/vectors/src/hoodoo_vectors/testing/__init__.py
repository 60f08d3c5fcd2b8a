"""Contract suites for authors of indexes of vectors: inherit one, and give it your plugin."""
