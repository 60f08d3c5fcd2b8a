"""Stores: files below one directory."""
