"""Hudi's own locks of the cloud: an item of a DynamoDB table, and a file of the table that is
replaced on conditions."""
