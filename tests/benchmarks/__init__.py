"""Benchmarks: scripts that measure, with their results beside them. No test asserts a time."""
