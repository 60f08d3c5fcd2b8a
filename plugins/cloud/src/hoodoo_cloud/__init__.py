"""Tables on object stores: S3 and what speaks it, Google Cloud Storage, Azure, and memory."""

__version__ = "0.2.0"
