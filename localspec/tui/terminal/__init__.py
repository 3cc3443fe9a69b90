"""The terminal around the app: its clipboard and its window title."""
