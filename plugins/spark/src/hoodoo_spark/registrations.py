"""What hoodoo-spark offers."""
