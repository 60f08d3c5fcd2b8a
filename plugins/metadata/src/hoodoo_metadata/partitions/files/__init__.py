"""The partition `files`: which files each partition path has."""
