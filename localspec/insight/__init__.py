"""Measurements of replies: statistics, metrics, observers, benchmarks, trials, and the check of losslessness."""
