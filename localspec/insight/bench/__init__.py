"""Whether speculation pays here: plain against speculative replies, measured by turns, and what follows from it.

``trials`` says what is asked in which order, ``measure`` asks, ``sample`` is one reply in figures, ``result`` what
was measured (and its file), ``summary`` and ``verdict`` what that says, ``compare`` what has changed since.
"""
