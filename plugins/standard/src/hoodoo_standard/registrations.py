"""What hoodoo-standard offers."""
