"""Subcommands of ``hoodoo``."""
