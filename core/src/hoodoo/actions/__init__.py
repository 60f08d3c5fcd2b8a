"""Actions that core itself needs: rollback, recovery of what died, and the checks of plans."""
