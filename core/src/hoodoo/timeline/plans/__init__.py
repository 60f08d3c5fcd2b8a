"""Plans of services as they lie on the timeline: clean, compaction, clustering."""
