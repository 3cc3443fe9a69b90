"""The engine against llama.cpp's own server, on the same files, the same prompts and the same cores."""
