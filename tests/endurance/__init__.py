"""The whole app, run for long or ended at bad moments: scripts, and what they are made of."""
