"""Log files: blocks of rows, deletes and changes, appended to a file slice (format page 4)."""
