"""Shipped for authors of plugins: contract suites, and stores that fail and crash."""
