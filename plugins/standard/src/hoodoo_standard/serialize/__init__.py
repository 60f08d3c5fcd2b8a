"""Serializers that make a Python object of every row: what `arrow` is compared with."""
