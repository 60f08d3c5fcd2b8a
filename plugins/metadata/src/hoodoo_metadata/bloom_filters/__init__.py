"""Partition ``bloom_filters``: the filters of record keys of base files, which need not be opened for them."""
