"""Backends evaluate a network; only this folder imports llama_cpp."""
