"""Read: files become rows, one module a step."""
