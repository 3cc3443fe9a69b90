"""Speculative decoding, and nothing else: no chat, no files, no colour, no processes.

A reply is a stream of rounds. In each round a drafter proposes up to ``depth`` tokens, the target
scores them in one pass, and ``verify`` keeps the longest prefix the target's own distribution
allows, plus one token of its own. Plain decoding is the same loop at depth 0.
"""
