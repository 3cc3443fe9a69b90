"""The conversation on screen: turns, replies, and the lines below them."""
