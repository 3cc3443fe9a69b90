"""The application without a screen: conversations, replies, pairs, and messages being written."""
