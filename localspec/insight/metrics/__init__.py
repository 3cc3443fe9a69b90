"""Metrics for monitoring: OpenMetrics text, on a port of this machine or in a file."""
