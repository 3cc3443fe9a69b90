"""The chat screen. The only package that imports Textual; nothing below knows it exists."""
