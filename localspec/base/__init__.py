"""Errors, paths, files, signals, memory, and text made safe to show: what every package may use."""
