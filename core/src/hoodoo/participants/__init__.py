"""The participants of a table: all that becomes true together with an action."""
