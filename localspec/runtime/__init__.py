"""Two model files made into a pair that replies: placement, loading, prompting, calibration, caches, engine process."""
