"""Conversations as files: ours come back as they were, those of others with all they have."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import InputError, NotFoundError
from localspec.runtime.images import image_block, keep_image
from localspec.store import ConversationDocument, Store
from localspec.store.files import read_conversations, to_json, to_markdown, to_ndjson, write_new
from localspec.store.titles import MAX_GIVEN_LENGTH
from tests.store.support import branched, contents, converse, open_store
from tests.tiny_projectors import write_png


@pytest.fixture
def documents(store: Store) -> list[ConversationDocument]:
    branched(store)
    store.pin(converse(store, ("日本語 🎉", "Yes."), system="be\nbrief").id, pinned=True)
    return [store.document(each.heading.id) for each in store.conversations()]


def read(tmp_path: Path, data: object) -> list[ConversationDocument]:
    file = tmp_path / "given.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return read_conversations(file)


def test_what_is_exported_and_imported_is_the_same(
    store: Store, documents: list[ConversationDocument], tmp_path: Path
) -> None:
    """In another store, ids and all; every branch, token and figure."""
    other = open_store(tmp_path / "other.db", first_id=5000)
    added = other.add(read(tmp_path, to_json(documents)))
    assert set(added.new) == {each.heading.id for each in documents}
    assert [contents(other.document(each.heading.id)) for each in documents] == [*map(contents, documents)]
    assert to_json([other.document(each.heading.id) for each in documents]) == to_json(documents)
    assert len(other.search("scattering")) == 1
    other.close()


def test_of_a_very_long_title_the_beginning_is_kept(store: Store, tmp_path: Path) -> None:
    """Each key of a filter searches all titles, which took minutes."""
    said = converse(store, ("Hello?", "Hi."))
    said.rename("a" * 5000)
    assert said.title == "a" * MAX_GIVEN_LENGTH
    whole = json.loads(to_json([store.document(said.id)]))
    whole["conversations"][0]["title"] = "b" * 5000
    (document,) = read(tmp_path, whole)
    assert document.heading.title == "b" * MAX_GIVEN_LENGTH


def test_an_import_has_no_file_of_this_machine_read(store: Store, tmp_path: Path) -> None:
    """As its grammar or JSON Schema, which may go to a server; text that begins alike is only text."""
    said = converse(store, ("Hello?", "Hi."))
    kept = {"sampling.top_k": 3, "reply.system": "@home", "sampling.grammar": 'root ::= "yes"'}
    whole = json.loads(to_json([store.document(said.id)]))
    for own in (kept, kept | {"sampling.grammar": "@/etc/passwd"}, kept | {"sampling.json_schema": "@x.json"}):
        whole["conversations"][0]["settings"] = own
        (document,) = read(tmp_path, whole)
        assert document.heading.settings == {name: value for name, value in own.items() if value in kept.values()}


def test_what_is_here_is_not_added_again(store: Store, documents: list[ConversationDocument], tmp_path: Path) -> None:
    """Unless copies are wanted, or it was deleted."""
    again = read(tmp_path, to_json(documents))
    assert set(store.add(again).known) == {each.heading.id for each in documents}
    copies = store.add(again, copies=True)
    assert [contents(store.document(new)) for new in copies.new] == [contents(_copied(each)) for each in documents]
    store.delete(documents[0].heading.id)
    (new,) = store.add(again[:1]).new
    assert new != documents[0].heading.id
    assert contents(store.document(new)) == contents(documents[0])


def test_images_go_with_the_conversation(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "here"))
    reference = keep_image(write_png(tmp_path / "cat.png").read_bytes())
    said = converse(store, (f"{image_block('my cat.png', reference)}What is this?", "A cat."))
    document = store.document(said.id)
    write_new([document], tmp_path / "said.md")
    link = f"![my cat.png](<said-images/{reference.sha256[:12]}.png>)\n\nWhat is this?"
    assert link in (tmp_path / "said.md").read_text()
    assert (tmp_path / "said-images" / f"{reference.sha256[:12]}.png").read_bytes() == reference.read()
    whole = json.loads(to_json([document]))
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "elsewhere"))
    read(tmp_path, whole)
    assert reference.path.is_relative_to(tmp_path / "elsewhere")
    assert reference.read() == (tmp_path / "cat.png").read_bytes()
    whole["conversations"][0]["images"][reference.sha256] = "AAAA"
    with pytest.raises(InputError, match="images have no image with the SHA-256"):
        read(tmp_path, whole)


def test_unknown_fields_are_passed_over(documents: list[ConversationDocument], tmp_path: Path) -> None:
    """A later LocalSpec may have more to say."""
    data = json.loads(to_json(documents))
    for each in data["conversations"]:
        each["mood"] = "sunny"
        for message in each["messages"]:
            message["mood"] = 1
            for part in message["reply"]:
                part["mood"] = part["about"]["mood"] = part["about"]["options"]["sampling"]["mood"] = []
    assert [*map(contents, read(tmp_path, data))] == [*map(contents, documents)]


def places(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place, *(each for name, value in inner for each in places(value, (*place, name)))]


@given(data=st.data(), junk=st.sampled_from([None, 0, -1.5, "x", [], {}, [1], {"a": 1}, True, 1e300, "2026-13-77"]))
@settings(max_examples=200)
def test_anything_malformed_is_refused_whole(
    data: st.DataObject, junk: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands in whatever place: it is read, or refused with a sentence; never half, never a traceback."""
    kind = data.draw(st.sampled_from([OURS, CHATGPT, LM_STUDIO]))
    mutated = json.loads(json.dumps(kind))
    place = data.draw(st.sampled_from(places(mutated)[1:]))
    holder = mutated
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk
    try:
        documents = read(tmp_path_factory.getbasetemp(), mutated)
    except InputError:
        return
    store = Store.open_or_memory(Path("/dev/null/nowhere"))
    assert len(store.add(documents).new) == len(documents)
    for summary in store.conversations():
        assert store.open_conversation(summary.heading.id).path is not None
        to_markdown(store.document(summary.heading.id))
    store.close()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[" * 100_000, "not JSON that can be read"),
        ("[]", "has no conversations that LocalSpec can read"),
        ('{"format": "localspec-conversations", "version": 2}', "version is 2; this LocalSpec reads 1"),
        (("role", "robot"), "messages[1].role is 'robot', not 'user', 'assistant', 'tool' or 'system'"),
        (("role", "tool"), "conversations[0].messages[1].call is missing"),
        (("content", 7), "conversations[0].messages[1].content is a whole number, not text"),
        (("content", "else"), "messages[1].reply[0].rounds have tokens that are not the text of the message"),
        (("created", "soon"), "conversations[0].messages[1].created is not a time: 'soon'"),
        (("created", "0001-01-01T00:00:00Z"), "created is not a time: '0001-01-01T00:00:00Z'"),
        (("parent", "nobody"), "is not a tree: the message"),
        (("reply", [{"state": "writing"}]), "messages[1].reply[0].state is 'writing': wait for the end"),
        (("reply", [{"state": "done", "begin": "x"}]), "messages[1].reply[0] is not a part of a reply"),
    ],
)
def test_a_complaint_says_where_and_why(tmp_path: Path, change: str | tuple[str, object], complaint: str) -> None:
    """So that it can be mended."""
    data: Any = change
    if isinstance(change, tuple):
        data = json.loads(json.dumps(OURS))
        data["conversations"][0]["messages"][1][change[0]] = change[1]
    with pytest.raises(InputError) as refused:
        read(tmp_path, data)
    assert complaint in refused.value.message


def test_a_round_without_tokens_is_refused(tmp_path: Path) -> None:
    """The target gives every round one, and whoever reads rounds relies on it."""
    data = json.loads(json.dumps(OURS))
    rounds = data["conversations"][0]["messages"][1]["reply"][0]["rounds"]
    rounds.append(rounds[0] | {"tokens": []})
    with pytest.raises(InputError, match=r"messages\[1\]\.reply\[0\]\.rounds have one without tokens"):
        read(tmp_path, data)


@pytest.mark.parametrize("micros", [-(2**62), -62_135_596_800_000_000, 253_402_300_799_000_000, 2**62])
def test_a_time_and_settings_that_are_none_keep_no_conversation_from_being_shown(store: Store, micros: int) -> None:
    """As a damaged row may have one, or one at the very end that is no time in other zones."""
    converse(store, ("Hello", "Yes."))
    store._database.run([("UPDATE conversation SET updated = ?, settings = '{'", (micros,))])
    (listed,) = store.conversations()
    assert listed.heading.settings == {}
    for hours in (-12, 14):
        assert listed.heading.updated.astimezone(timezone(timedelta(hours=hours)))


def test_rounds_that_cannot_be_read_keep_no_conversation_from_being_exported(store: Store) -> None:
    """As a newer LocalSpec may have written them: the text and the figures are there."""
    thread = converse(store, ("Hello", "Yes."))
    store._database.run([("UPDATE reply SET rounds = ?", (b"\x09abc",))])
    for document in (store.document(thread.id), thread.document()):
        (part,) = document.messages[1].parts
        assert (document.messages[1].node.content, part.rounds) == ("Yes. ", ())
        assert part.finished is not None
        assert "tokens" in to_markdown(document)


@pytest.mark.parametrize(
    "finished", ["{", "[]", '{"event": "done"}', '{"event": "done", "reason": "stop", "timings": 3}']
)
def test_the_text_of_a_reply_is_found_and_exported_though_its_figures_are_damaged(store: Store, finished: str) -> None:
    """Here as elsewhere one reply keeps no other from being seen."""
    thread = converse(store, ("Hello", "Yes."), ("Again", "Yes, certainly."))
    first = thread.path[1].id
    store._database.run([("UPDATE reply SET finished = ? WHERE message = ?", (finished, first))])
    assert {hit.message for hit in store.search("yes")} == {first, thread.path[3].id}
    document = store.document(thread.id)
    assert [len(message.parts) for message in document.messages] == [0, 0, 0, 1]
    assert "Yes." in to_markdown(document)
    with pytest.raises(ValueError, match="damaged"):
        thread.reply(first)


def test_nothing_is_half_imported(store: Store, documents: list[ConversationDocument]) -> None:
    """One that cannot be stored keeps all others out."""
    twice = ConversationDocument(documents[0].heading, documents[0].messages[1:])
    before = store.conversations()
    with pytest.raises(Exception, match=r".+"):
        store.add([documents[1], twice], copies=True)
    assert store.conversations() == before


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    """Not there, not text, a zip file of something else, one that is cut."""
    with pytest.raises(NotFoundError):
        read_conversations(tmp_path / "nowhere.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="byte 0"):
        read_conversations(tmp_path / "bytes")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("chat.html", "x")
    (tmp_path / "other.zip").write_bytes(packed.getvalue())
    with pytest.raises(InputError, match=r"no conversations\.json"):
        read_conversations(tmp_path / "other.zip")
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("conversations.json", "[" + "1," * 5000 + "1]")
    wrong = bytearray(damaged.getvalue())
    wrong[57] ^= 0xFF
    for data in (packed.getvalue()[:40], bytes(wrong)):
        (tmp_path / "cut.zip").write_bytes(data)
        with pytest.raises(InputError, match="damaged zip"):
            read_conversations(tmp_path / "cut.zip")


def test_chatgpt_comes_with_its_branches(store: Store, tmp_path: Path) -> None:
    """Also in the zip file it is downloaded in; tools and hidden nodes are passed over, and nothing comes twice."""
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
    documents = read_conversations(tmp_path / "export.zip")
    (new,) = store.add(documents).new
    thread = store.open_conversation(new)
    assert (thread.title, thread.system) == ("Rivers", "Be brief.")
    assert [node.content for node in thread.path] == ["Longest river?", "Let me look.", "The Nile.", "Sure?\n\n[image]"]
    assert [node.content for node in thread.tree.siblings(thread.path[0].id)] == ["Longest river?", "Largest river?"]
    assert [node.content for node in thread.tree.siblings(thread.path[2].id)] == ["The Nile.", "The Amazon."]
    assert store.add(documents).known == (new,)


def test_a_large_export_of_chatgpt_comes_in_numbered_files(tmp_path: Path) -> None:
    """Since 2026 its zip file has conversations-000.json and so on; all of them are read, in their order."""
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for number in (1, 0):
            part = [{**CHATGPT[0], "conversation_id": f"c{number}"}]
            archive.writestr(f"conversations-00{number}.json", json.dumps(part))
        archive.writestr("shared_conversations.json", "[]")
    documents = read_conversations(tmp_path / "export.zip")
    assert [document.heading.source for document in documents] == ["chatgpt:c0", "chatgpt:c1"]


def test_half_a_character_in_an_id_is_no_obstacle(store: Store, tmp_path: Path) -> None:
    """JSON can name one, and no database can store it; a second import finds the first all the same."""
    whole = json.loads(json.dumps(CHATGPT))
    whole[0] |= {"id": "\ud800", "conversation_id": None}
    (new,) = store.add(read(tmp_path, whole)).new
    assert store.add(read(tmp_path, whole)).known == (new,)
    with pytest.raises(NotFoundError):
        store.find("\udcff")


def test_what_is_no_tree_of_chatgpt_is_told(tmp_path: Path) -> None:
    """A node that is reached twice, one that is not reached at all."""
    twice, lost = json.loads(json.dumps(CHATGPT)), json.loads(json.dumps(CHATGPT))
    twice[0]["mapping"]["t"]["children"].append("qb")
    lost[0]["mapping"]["t"]["children"].remove("r3")
    with pytest.raises(InputError, match=r"mapping\.qb is reached twice"):
        read(tmp_path, twice)
    with pytest.raises(InputError, match=r"mapping\.r3 cannot be reached"):
        read(tmp_path, lost)


def test_lm_studio_comes_with_its_versions(store: Store, tmp_path: Path) -> None:
    """What follows stands below the selected one; reasoning is left out."""
    documents = read(tmp_path, LM_STUDIO)
    (new,) = store.add(documents).new
    thread = store.open_conversation(new)
    assert (thread.title, thread.system, thread.heading.pinned) == ("Sky", "Be brief.", True)
    assert [node.content for node in thread.path] == ["Why?", "Scattering.", "More."]
    assert [node.content for node in thread.tree.siblings(thread.path[1].id)] == ["Dust.", "Scattering."]
    assert store.add(documents).known == (new,)


def test_markdown_has_what_is_shown(documents: list[ConversationDocument]) -> None:
    """The current branch alone, with speakers and figures."""
    text = to_markdown(documents[0])
    assert text.startswith("# 日本語 🎉\n\n*2026-11-21 12:")
    assert "\n> be\n> brief\n" in text
    assert "## You\n\n日本語 🎉\n\n## Reply (builtin)\n\nYes. \n\n*1 token," in text
    assert "mirrors" not in to_markdown(documents[1])


def test_ndjson_has_the_events_of_every_reply(documents: list[ConversationDocument]) -> None:
    """In order, each line saying what it is and whose."""
    records = [json.loads(line) for line in to_ndjson(documents[0])]
    assert [record["kind"] for record in records] == [
        *("conversation", "message", "message", "reply"),
        *("event", "event", "event"),
    ]
    assert [record["event"] for record in records[4:]] == ["start", "round", "done"]
    assert {record["conversation"] for record in records[1:]} == {documents[0].heading.id}
    assert records[5]["tokens"] == [{"id": 5, "text": "Yes. ", "origin": "corrected", "drafter": None}]


def _step(text: str, kind: str = "contentBlock", **more: object) -> dict[str, object]:
    return {"type": kind, "content": [{"type": "text", "text": text}], **more}


def _asked(text: str) -> dict[str, object]:
    return {"versions": [{"role": "user", "content": [{"type": "text", "text": text}]}], "currentlySelected": 0}


LM_STUDIO = {
    "name": "Sky",
    "pinned": True,
    "createdAt": 1731000000000,
    "systemPrompt": "Be brief.",
    "messages": [
        _asked("Why?"),
        {
            "versions": [
                {"role": "assistant", "type": "multiStep", "steps": [_step("Dust.")]},
                {
                    "role": "assistant",
                    "type": "multiStep",
                    "steps": [
                        _step("Hmm.", style={"type": "thinking"}),
                        _step("x", "debugInfoBlock"),
                        _step("Scattering."),
                    ],
                },
            ],
            "currentlySelected": 1,
        },
        _asked("More."),
    ],
}


def _node(name: str, parent: str | None, children: list[str], role: str, *parts: object) -> dict[str, object]:
    message = {
        "author": {"role": role},
        "create_time": 1700000001.5,
        "content": {"content_type": "text", "parts": parts},
    }
    return {"id": name, "parent": parent, "children": children, "message": message if parts else None}


CHATGPT = [
    {
        "title": "Rivers",
        "create_time": 1700000000.25,
        "update_time": 1700000100,
        "conversation_id": "c-1",
        "current_node": "q2",
        "mapping": {
            "root": _node("root", None, ["s"], "system"),
            "s": _node("s", "root", ["q", "qb"], "system", "Be brief."),
            "q": _node("q", "s", ["r"], "user", "Longest river?"),
            "qb": _node("qb", "s", [], "user", "Largest river?"),
            "r": _node("r", "q", ["t"], "assistant", "Let me look."),
            "t": _node("t", "r", ["r2", "r3"], "tool", "42"),
            "r2": _node("r2", "t", ["q2"], "assistant", "The Nile."),
            "r3": _node("r3", "t", [], "assistant", "The Amazon."),
            "q2": _node("q2", "r2", [], "user", "Sure?", {"content_type": "image_asset_pointer"}),
        },
    }
]


def _ours() -> dict[str, Any]:
    store = Store.open_or_memory(Path("/dev/null/nowhere"))
    thread = branched(store)
    data: dict[str, Any] = json.loads(to_json([store.document(thread.id)]))
    store.close()
    return data


OURS = _ours()


def _copied(document: ConversationDocument) -> ConversationDocument:
    messages = [
        replace(each, parts=tuple(replace(part, about=replace(part.about, copied=True)) for part in each.parts))
        for each in document.messages
    ]
    return replace(document, messages=tuple(messages))


def test_a_copied_reply_counts_once_in_statistics(
    store: Store, documents: list[ConversationDocument], tmp_path: Path
) -> None:
    """However often it is copied, and whichever of the conversations is exported and imported elsewhere."""
    counted = [run.message for run in store.runs()]
    again = read(tmp_path, to_json(documents))
    copies = [new for _ in range(2) for new in store.add(again, copies=True).new]
    assert counted == [run.message for run in store.runs()] != []
    both = read(tmp_path, to_json([*documents, *map(store.document, copies)]))
    other = open_store(tmp_path / "other.db", first_id=5000)
    other.add(both)
    assert {run.message for run in other.runs()} == set(counted)
    other.close()


def test_what_was_deleted_comes_back_once(store: Store, documents: list[ConversationDocument], tmp_path: Path) -> None:
    """However often its file is imported: what has its id is deleted, and what came in its place is known."""
    again = read(tmp_path, to_json(documents[:1]))
    store.delete(documents[0].heading.id)
    (new,) = store.add(again).new
    assert store.add(again).known == (new,)
    store.delete(new)
    assert len(store.add(again).new) == 1
