"""Questions as many different people would put them, gathered from the modules that are named for their topics."""

from __future__ import annotations

import wordings_app
import wordings_commands
import wordings_origins
import wordings_pairs
import wordings_shell
import wordings_speculation
import wordings_use

WORDINGS: dict[str, tuple[str, ...]] = {
    key: patterns
    for module in (
        wordings_app,
        wordings_use,
        wordings_speculation,
        wordings_origins,
        wordings_pairs,
        wordings_commands,
        wordings_shell,
    )
    for key, patterns in module.WORDINGS.items()
}
"""Patterns by the topic's key, as in `topics.py`."""
