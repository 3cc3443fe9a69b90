"""Backends: whatever evaluates a network. Only this folder imports llama_cpp."""
