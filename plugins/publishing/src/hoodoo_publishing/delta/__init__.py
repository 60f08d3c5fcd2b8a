"""Delta Lake: the log ``_delta_log``."""
