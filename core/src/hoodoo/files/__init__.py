"""Log files, and what base files of any format have: record keys, bloom filters."""
