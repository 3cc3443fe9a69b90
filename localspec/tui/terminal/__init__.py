"""The terminal around the app: its clipboard, its title, and images."""
