"""Parts of a reply's text: reasoning, code blocks and links."""
