"""The paths and times that a LocalSpec server and its clients agree on."""

from __future__ import annotations

PAIRS, LOAD, ASK = "/localspec/v1/pairs", "/localspec/v1/load", "/localspec/v1/ask"
IMAGES = "/localspec/v1/images"
HEARTBEAT_S = 10.0
"""The longest silence of a server that is at work; then it sends an empty line."""
