"""The benchmark: plain and speculative replies measured in turn, and a verdict on speculation.

``trials`` schedules the replies, ``measure`` makes them, ``sample`` has the figures of one, ``result`` is the file of
all, ``summary`` and ``verdict`` evaluate it, and ``compare`` compares it with an earlier run.
"""
