"""``hoodoo ui``: a page on loopback that shows a table while it changes, and changes nothing."""
