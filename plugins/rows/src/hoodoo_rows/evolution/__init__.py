"""Schema evolution on read: columns that have other names in older files, by Hudi's internal
schema."""
