"""Partition ``record_index``: which file group holds each record key (RFC-08)."""
