"""The chat in plain text, line by line: for screen readers, for pipes, for terminals that cannot be drawn on.

Nothing is redrawn and no cursor moves. Replies go to standard output; everything else (the invitation to type, what
commands answer, figures, errors) goes to standard error in whole sentences. With ``--json`` all of it is records.
"""

from localspec.line.chat import LineChat
from localspec.line.state import State
from localspec.line.voice import JsonVoice, TextVoice, Voice

__all__ = ["JsonVoice", "LineChat", "State", "TextVoice", "Voice"]
