"""The chat in plain text, line by line: for screen readers, for pipes, for terminals that cannot be drawn on.

Nothing is redrawn and no cursor moves. Replies go to standard output. Everything else (the prompt, answers of commands,
figures, errors) goes to standard error in whole sentences. With ``--json`` all of it is records.
"""
