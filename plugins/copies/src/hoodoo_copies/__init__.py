"""Copies: a table keeps named states, and is copied to another place.

``tags``: names of states; ``backup``: the order of the steps of a copy; ``source``: what is copied,
as of one moment; ``transfer``: one file, verified; ``clone``: a new table with the same rows."""

from __future__ import annotations

__version__ = "0.2.0"
