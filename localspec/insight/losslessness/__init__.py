"""Whether speculation is lossless here: the same pair asked with and without it, and what the replies say."""
