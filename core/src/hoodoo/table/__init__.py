"""Table: what users call. A handle on a table, its facets, and how tables are made and opened."""
