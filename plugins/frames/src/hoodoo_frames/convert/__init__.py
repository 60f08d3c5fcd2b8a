"""Tables of others become Hudi tables."""
