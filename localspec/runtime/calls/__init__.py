"""Calls of tools: the syntax that a chat template has for them, prompts with tools, and calls read from replies."""
