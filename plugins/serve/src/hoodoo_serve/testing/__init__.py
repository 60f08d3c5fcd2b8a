"""Contract suites for authors of policies of services: inherit one, and give it your plugin."""
