"""The engine in a process of its own: a native abort costs a restart, never the conversation."""
