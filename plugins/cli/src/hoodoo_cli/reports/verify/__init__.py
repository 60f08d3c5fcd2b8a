"""Verify: is everything in a table as it should be?"""
