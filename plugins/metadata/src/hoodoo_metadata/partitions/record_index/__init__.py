"""The record indexes: where each record key is."""
