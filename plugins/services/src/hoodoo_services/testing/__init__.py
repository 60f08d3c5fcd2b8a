"""Contract suites for authors of strategies of compaction and policies of cleaning: inherit one,
and give it your plugin."""
