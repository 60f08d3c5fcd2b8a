"""The subcommand ``serve``."""
