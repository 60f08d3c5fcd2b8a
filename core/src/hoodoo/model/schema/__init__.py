"""Schemas: Arrow and Avro, evolution, and how rows are brought into one."""
