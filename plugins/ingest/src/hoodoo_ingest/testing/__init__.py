"""Contract suites for authors of sources: inherit one, and give it your plugin."""
