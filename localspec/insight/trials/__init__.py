"""Trials: another draft, drafter or policy on a share of the turns, judged by what it does there.

A trial says what is tried, on which pair and on which share of turns (``trial``); chance, which can be checked
afterwards, decides which side a turn is on (``assignment``). After every reply the two sides are compared
(``comparison``) by a test that may be looked at at any time (``evidence``), and the candidate is promoted, which
writes it into the settings (``promotion``), or rolled back. Trials lie in a file of their own (``book``); their
replies lie with all others in the store.
"""
