"""An approximate index of vectors.

``segment``: what is known of one base file; ``segments``: where they lie, and those in memory;
``build``: makes those that are missing; ``index``: answers searches; ``learns``: the participant;
``action`` and ``report``: by hand, and what the index is worth."""

__version__ = "0.2.0"
