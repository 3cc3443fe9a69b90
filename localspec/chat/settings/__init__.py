"""The settings beside a chat: those of a conversation, those of the screen, and the list in which they are changed."""
