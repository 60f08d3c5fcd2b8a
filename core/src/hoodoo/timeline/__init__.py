"""Instants, their files and what they mean: settings, timeline, publishing, file groups.

Nouns: :mod:`.properties`, :mod:`.timeline`, :mod:`.view`; steps: :mod:`.create`, :mod:`.publish`;
bytes: :mod:`.codec` (JSON and Avro), :mod:`.javaprops`; names and times: :mod:`.names`,
:mod:`.instants`, :mod:`.partitions`.
"""
