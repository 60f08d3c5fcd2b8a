"""What ``hoodoo inspect`` shows of base files and log files. Only hoodoo-cli imports these
modules."""
