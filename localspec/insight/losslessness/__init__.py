"""Tests of losslessness: the same pair is asked with and without speculation, and the replies are compared."""
