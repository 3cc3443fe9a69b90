"""Pairs of servers: those of a LocalSpec elsewhere, and models behind another program's OpenAI API."""
