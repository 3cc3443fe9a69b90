"""A command that is declared once is in every place where commands are met."""

from __future__ import annotations

import json
import subprocess
import sys


def test_one_declaration_is_enough() -> None:
    """Palette, row of hints, key, slash command, help, line mode, documentation and key map have it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.tui.dropped_in"], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) == {
        "palette": ["Wave (greet)"],
        "hints": True,
        "key": "Hello you.",
        "slash": "Hello Ann.",
        "other word": "Hello Bob.",
        "help": [["F23", "Wave", "to", "somebody."], ["/wave", "Wave", "to", "somebody."]],
        "line mode": ["Hello Ann.", "/wave [NAME]: Wave to somebody."],
        "completion": True,
        "docs": [
            "| F23 | `/wave` | Wave to somebody. |",
            "| `wave` | `f23` | `f23` | `f23` | Wave to somebody. |",
        ],
        "own key": "F24",
    }
