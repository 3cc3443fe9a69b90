"""The chat screen's controllers, one subject a module: they carry out what the reader asks for."""
