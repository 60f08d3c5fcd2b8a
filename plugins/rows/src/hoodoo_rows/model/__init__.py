"""Values that rows travel in: internal rows, the schemas that arrive, and hashes of keys."""
