"""The type VECTOR of Hudi 1.2, and search: the rows of a read whose vectors are nearest to given
ones.

``vector``: the type; ``queries``: the vectors that are searched for; ``stored``: columns of vectors
as NumPy arrays; ``metrics``: distances, and fast bounds of them; ``nearest``: the nearest rows so
far; ``search``: the methods."""

from __future__ import annotations

__version__ = "0.2.0"
