"""Layout: which values of a column each file holds, as numbers and as a picture."""
