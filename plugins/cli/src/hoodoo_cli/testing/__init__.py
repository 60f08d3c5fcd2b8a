"""Contract suites for authors of checks: inherit one, and give it your plugin."""
