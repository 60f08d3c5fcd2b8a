"""Archive: old instants move from the active timeline into the archived one."""
