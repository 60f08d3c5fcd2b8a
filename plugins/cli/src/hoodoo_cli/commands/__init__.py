"""The subcommands, a module each; a subcommand of a service lives with the service."""
