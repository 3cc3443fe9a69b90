"""Trials: another draft, drafter or policy on a share of the turns, compared with the incumbent.

A ``trial`` defines the candidate, the pair and the share of turns. A reproducible random ``assignment`` decides the
side of a turn. After every reply the sides are compared (``comparison``) by a sequential test (``evidence``), and the
candidate is promoted, which writes it into the settings (``promotion``), or rolled back. Trials are stored in a file of
their own (``book``), their replies with all others in the store.
"""
