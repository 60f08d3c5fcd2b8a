"""Ways to group file slices for a clustering, and ways to order the rows of a group."""
