"""Write: rows become files under one decision, one module a step."""
