"""Frozen values of a table: action, instant, file group, write stat, schema, properties."""
