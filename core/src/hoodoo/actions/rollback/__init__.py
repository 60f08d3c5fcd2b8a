"""Rollback and recovery: what failed or died leaves nothing behind."""
