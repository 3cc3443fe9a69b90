"""Tokens on screen: from lines of marked text to styled segments."""
