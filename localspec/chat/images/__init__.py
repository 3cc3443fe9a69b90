"""Pictures that a message takes along: read in a child process, scaled down, and kept as PNG."""
