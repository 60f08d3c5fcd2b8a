"""Contract suites for authors of clustering plans and orders: inherit one, and give it your
plugin."""
