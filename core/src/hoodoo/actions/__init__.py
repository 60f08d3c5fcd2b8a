"""Actions: the life that each of them has, and those that core itself needs: rollback, recovery."""
