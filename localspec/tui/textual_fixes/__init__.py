"""Corrections of Textual's insides."""
