"""Measurements of replies: statistics, metrics, observers, benchmarks, trials, and the proof of losslessness."""
