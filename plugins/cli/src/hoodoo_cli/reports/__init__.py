"""What is said of a table without changing it: its timeline, files, sizes, layout, and what is
wrong."""
