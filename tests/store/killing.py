"""Kills a program that records a reply, and looks at what is left.

python -m tests.store.killing [N]     N times, 100 by default
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from localspec.runtime.messages import Role
from localspec.store import ReplyState, StoredConversation
from localspec.store.recorder import INTERVAL_S
from tests.store.storyteller import ROUND_S
from tests.store.support import ABOUT, events, open_store

MOST_LINES = 120
ROOT = Path(__file__).parents[2]


def kill_and_look(folder: Path, seed: int) -> ReplyState | None:
    """One life and death; how the last reply was found, None if there was none yet.

    AssertionError if anything is lost that came more than the interval before the end.
    """
    path = folder / f"{seed}.db"
    last, lines = _kill(path, seed)
    store = open_store(path, first_id=10**6)
    assert store.notice == ""
    assert store._database.query("PRAGMA integrity_check") == [("ok",)]
    assert store._database.query("SELECT count(*) FROM chunk") == [(0,)]
    assert not list(folder.glob(f"{path.name}-writer-*"))
    summaries = store.conversations()
    if not summaries:
        assert last == 0
        store.close()
        return None
    thread = store.open_conversation(summaries[0].heading.id)
    questions = [node for node in thread.path if node.role is Role.USER]
    assert len(questions) in (last, last + 1), "the question that was asked last may have come before the kill, or not"
    said = {float(at): text for at, text in lines}
    left = thread.path[-1] if len(questions) == last + 1 and thread.path[-1].role is Role.ASSISTANT else None
    found = left.content if left else ""
    due = max((text for at, text in said.items() if at <= max(said) - INTERVAL_S - ROUND_S), key=len, default="")
    assert found.startswith(due)
    if left is not None:
        assert left.state in (ReplyState.CUT_OFF, ReplyState.DONE)
        reply = thread.reply(left.id)
        assert reply is not None
        assert "".join(token.text for token in reply.tokens) == reply.text == found
    _go_on(thread)
    store.close()
    return left.state if left else None


def _go_on(thread: StoredConversation) -> None:
    """The conversation is none the worse."""
    thread.ask("Are you there?")
    recorder = thread.begin_reply(ABOUT)
    for event in events("Yes, I am."):
        recorder.receive(event)
    assert thread.trouble is None
    assert thread.path[-1].content == "Yes, I am. "


def _kill(path: Path, seed: int) -> tuple[int, list[tuple[float, str]]]:
    """How many questions had been asked before the last one, and what had been recorded of its reply."""
    command = [sys.executable, "-m", "tests.store.storyteller", str(path), str(seed)]
    wanted = random.Random(seed).randrange(1, MOST_LINES)
    last = -1
    lines: list[tuple[float, str]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as teller:
        assert teller.stdout is not None
        for number, line in enumerate(teller.stdout, 1):
            if number == wanted:
                teller.kill()
            if not line.endswith(b"\n"):
                break
            first, second = json.loads(line)
            if first == "ask":
                last, lines = second, []
            else:
                lines.append((first, second))
    assert last >= 0, "the program never began"
    return last, lines or [(0.0, "")]


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        found = [kill_and_look(Path(folder), seed) for seed in range(times)]
    print({str(state): found.count(state) for state in sorted(set(found), key=str)})


if __name__ == "__main__":
    main()
