"""The archived timeline, in both layouts: instants that have left the active one (format page 2.5)."""
