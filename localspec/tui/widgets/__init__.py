"""Widgets, one visible region a file; none reaches a sibling."""
