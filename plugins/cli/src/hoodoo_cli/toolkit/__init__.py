"""What subcommands are made with, those that other distributions contribute too: arguments,
printing."""
