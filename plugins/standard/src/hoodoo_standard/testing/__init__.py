"""The contract suite for authors of key filters: inherit it, and give it your plugin."""
