"""One visible region a file. Widgets draw what they are told; none reaches a sibling."""
