"""The commands of the chat, in the order in which help and documentation list them."""

from __future__ import annotations

from localspec.chat.commands.command import Place
from localspec.chat.commands.conversations import HISTORY
from localspec.chat.commands.moving import MOVING
from localspec.chat.commands.setup import SETUP
from localspec.chat.commands.turns import TURNS
from localspec.chat.commands.watching import WATCHING
from localspec.chat.commands.writing import WRITING

_GROUPS = (WRITING, WATCHING, TURNS, HISTORY, SETUP, MOVING)

CHAT = Place("Keys", commands=[command for group in _GROUPS for command in group.commands])
