"""Rows that SQLite finds whole and no program wrote: nothing of them is lost, and the rest is as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localspec.runtime.messages import Role, ToolCall
from localspec.store import RecordFilter, Store
from localspec.store.files import read_conversations, text_of
from tests.store.support import ABOUT, converse, events, open_store

DEEP = "[" * 100_000
WHOLE = ("Why is the sky blue?", "Because of scattering. ")
TEXTS = ["What is six by seven?", "I reckon. ", "42", "It is 42. ", "Thanks"]
DAMAGE = [
    "UPDATE message SET role = 'robot'",
    "UPDATE message SET role = CAST(x'ff' AS TEXT)",
    "UPDATE message SET role = 'tool'",
    "UPDATE message SET parent = 'none' WHERE parent IS NOT NULL",
    "UPDATE message SET parent = id",
    "UPDATE message SET parent = (SELECT id FROM message ORDER BY number DESC LIMIT 1)",
    "UPDATE message SET created = 1 << 62, deleted = NULL",
    "UPDATE message SET call = '{' WHERE call IS NOT NULL",
    "UPDATE message SET call = '{\"name\": 5}'",
    f"UPDATE message SET call = '{DEEP}'",
    "UPDATE reply SET state = 'asleep'",
    "UPDATE reply SET begin = -9, finished = '{\"said_n\": 1.5}'",
    "UPDATE reply SET begin = 1 << 62",
    f"UPDATE reply SET about = '{DEEP}', started = 'x', finished = '[]', error = '5', rounds = x'00'",
    'UPDATE reply SET about = \'{"pair_id": 5}\', started = \'{"event": "start", "prompt_n": "x"}\'',
    "UPDATE reply SET finished = json_set(finished, '$.timings.rounds_n', 'x')",
    "UPDATE reply SET finished = json_set(finished, '$.said_n', 'x')",
    "UPDATE reply SET message = 'none' || message, state = 'writing'",
    "UPDATE conversation SET leaf = 'none', settings = '{', updated = -(1 << 62)",
    f"UPDATE conversation SET settings = '{DEEP}'",
    "UPDATE conversation SET title = CAST(x'61ff' AS TEXT), tags = CAST(x'ff' AS TEXT)",
]


def told(store: Store) -> str:
    """A conversation with a call, in a store that has another one."""
    converse(store, WHOLE)
    thread = converse(store, ("What is six by seven?", "I reckon."))
    thread.add_result(ToolCall("1", "calculate", '{"text": "6*7"}'), "42")
    recorder = thread.begin_reply(ABOUT)
    for event in events("It is 42."):
        recorder.receive(event)
    thread.ask("Thanks")
    return thread.id


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda sql: sql[:60])
def test_a_damaged_row_costs_no_text_and_no_other_conversation(path: Path, damage: str) -> None:
    """It is listed, found, shown, exported, imported again, and goes on."""
    store = open_store(path)
    hurt = told(store)
    store.close()
    table = damage.split()[1]
    of = "number IN (SELECT max(number) FROM conversation)" if table == "conversation" else "conversation = ?"
    of = f"message IN (SELECT id FROM message WHERE {of})" if table == "reply" else of
    with closing(sqlite3.connect(path)) as connection:
        statement = f"{damage} {'AND' if ' WHERE ' in damage else 'WHERE'} {of}"
        assert connection.execute(statement, (hurt,) if "?" in of else ()).rowcount
        connection.commit()
    store = open_store(path, first_id=500)
    ids = [each.heading.id for each in store.conversations()]
    assert (len(ids), store.notice) == (2, "")
    other = next(each for each in ids if each != hurt)
    assert tuple(node.content for node in store.open_conversation(other).path) == WHOLE
    thread = store.open_conversation(hurt)
    assert [node.content for node in thread.path] == TEXTS
    assert {Role(hit.role) for hit in store.search("42") if hit.role}
    for where in (RecordFilter(), RecordFilter(texts=True, rounds=True)):
        assert sum(run.conversation == other for run in store.runs(where=where)) == 1
    for kind in ("markdown", "html", "json", "ndjson"):
        assert all(text in "".join(text_of([store.document(hurt)], kind)) for text in ("42", "Thanks"))
    file = path.with_name("exported.json")
    file.write_text("".join(text_of([store.document(hurt)], "json")), encoding="utf-8")
    (again,) = read_conversations(file)
    assert [message.node.content for message in again.messages] == TEXTS
    for node in thread.tree.nodes:
        assert thread.tree.position(node.id)
    thread.messages()
    thread.ask("Go on.")
    recorder = thread.begin_reply(ABOUT)
    for event in events("Yes."):
        recorder.receive(event)
    assert thread.trouble is None
    store.close()
