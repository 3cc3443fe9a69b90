"""Vectors of texts, made by an embedding model in a process of its own."""
