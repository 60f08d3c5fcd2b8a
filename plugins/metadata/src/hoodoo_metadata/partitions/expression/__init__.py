"""Partitions ``expr_index_*``: Hudi's indexes of an expression."""
