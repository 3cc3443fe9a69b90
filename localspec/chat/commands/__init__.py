"""Commands: what a person can do in the chat, declared once for keys, palette, slash commands, help and line mode."""
