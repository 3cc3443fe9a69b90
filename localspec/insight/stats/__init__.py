"""Statistics of all stored replies: distributions, drift, objectives, and disagreements of draft and target.

Works on one ``store.ReplyRecord`` at a time. Memory does not grow with their number, except for the ranks of
``drift_watch`` (48 bytes a reply).
"""
