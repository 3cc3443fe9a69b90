"""What the figures of all replies come to: distributions, drift, and where draft and target disagree.

Works on ``store.Run``, one at a time, in memory that does not grow with their number, except for the ranks that
``watch`` compares (48 bytes a reply).
"""
