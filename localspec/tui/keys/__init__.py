"""Commands as Textual's key bindings, and the methods that handle them."""
