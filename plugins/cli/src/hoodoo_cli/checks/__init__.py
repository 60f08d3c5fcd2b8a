"""The checks of hoodoo-cli itself: plugins, the machine, and what every table has."""
