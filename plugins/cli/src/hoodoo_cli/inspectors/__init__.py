"""What ``hoodoo inspect`` shows of files that core can decode."""
