"""The chat screen; the only package that imports Textual."""
