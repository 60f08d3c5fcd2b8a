"""Secondary indexes: which record keys have a value of a column."""
