"""The tokens of a reply: their origin, the facts about each, and the figures of the live line."""
