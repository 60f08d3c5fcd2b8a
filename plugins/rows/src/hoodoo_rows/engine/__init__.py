"""What engines share: sources, crossing rows between tasks, spilling, counting, places in order."""
