"""Looking at a table without changing it: its timeline, files and sizes, and whether all is right."""
