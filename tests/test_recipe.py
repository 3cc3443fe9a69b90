"""What the recipe of the built-in pair teaches is true of the program, and its text holds together. Needs no torch."""

from __future__ import annotations

import ctypes
import importlib
import json
import re
import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import pytest

from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.runtime.messages import Message, Role
from localspec.runtime.template import ChatTemplate

RECIPE = Path(__file__).parent.parent / "assets" / "recipe"
KEY = re.compile(r"(?<![\w+])(?:(?:Ctrl|Alt|Shift)\+)+(?:Page Up|Page Down|[A-Z][a-z]*)|\bF\d+\b")
SLASH = re.compile(r"(?<![\w.`/<])`?(/[a-z]+)\b(?!/)")
COMMAND = re.compile(r"`(localspec [a-z][a-z-]*(?: [a-z][a-z-]*)?)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


class Recipe:
    """The modules of the recipe, by name."""

    def __getattr__(self, name: str) -> ModuleType:
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def recipe() -> Iterator[Any]:
    """The recipe's modules, which import each other by plain names, for as long as these tests run."""
    before = set(sys.modules)
    sys.path.insert(0, str(RECIPE))
    try:
        yield Recipe()
    finally:
        sys.path.remove(str(RECIPE))
        for name in set(sys.modules) - before:
            if str(RECIPE) in (getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]


def replies(recipe: Any) -> list[str]:
    return sorted(recipe.chats.known_replies())


def sample(recipe: Any, chats: int, **text: Any) -> list[list[dict[str, str]]]:
    return list(islice(recipe.chats.chats(recipe.chats.Text(chats, 77, **text)), chats))


def test_the_model_was_told_the_keys_and_commands_of_today(recipe: Any) -> None:
    """If this fails after an intended change: python assets/recipe/product.py, and train the pair anew.

    More words for a command do no harm, nor do more commands and options of the command line.
    """
    told, today = recipe.product.facts(), recipe.product.tables()
    assert told["actions"].keys() == today["actions"].keys()
    for action, (key, *words) in told["actions"].items():
        key_today, *words_today = today["actions"][action]
        assert (action, key) == (action, key_today)
        assert set(words) <= set(words_today), action
    assert set(told["shell"]["commands"]) <= set(today["shell"]["commands"])
    assert set(told["shell"]["options"]) <= set(today["shell"]["options"])


def test_every_action_of_the_chat_is_explained_once(recipe: Any) -> None:
    explained = [action.id for action in recipe.product.ACTIONS] + list(recipe.product.SAME_AS)
    assert sorted(explained) == sorted(recipe.product.facts()["actions"])
    assert set(recipe.product.SAME_AS.values()) <= {topic.key for topic in recipe.topics.TOPICS}


def test_every_explained_part_of_the_command_line_exists(recipe: Any) -> None:
    shell = recipe.product.facts()["shell"]
    assert {each.name for each in recipe.product.SHELL} <= {*shell["commands"], *shell["options"]}


def test_replies_name_only_keys_commands_and_options_that_exist(recipe: Any) -> None:
    facts = recipe.product.facts()
    keys = {key for key, *_ in facts["actions"].values()} | {"Ctrl+X"}  # Ctrl+X: the reply about the key map vim
    words = {f"/{word}" for _, *names in facts["actions"].values() for word in names}
    groups = {command.rsplit(" ", 1)[0] for command in facts["shell"]["commands"]}
    options = set(facts["shell"]["options"]) | {"--help"}
    for reply in replies(recipe):
        assert set(KEY.findall(reply)) <= keys, reply
        assert set(SLASH.findall(reply)) <= words, reply
        assert set(OPTION.findall(reply)) <= options, reply
        for command in COMMAND.findall(reply):
            # A word after a command that has none of its own is an argument.
            known = command in facts["shell"]["commands"] or command.rsplit(" ", 1)[0] not in {*groups} - {"localspec"}
            assert known, (command, reply)


def test_keys_in_a_question_survive_its_slips(recipe: Any) -> None:
    from random import Random

    rng = Random(5)
    for action, (key, slash, *_) in recipe.product.facts()["actions"].items():
        if key.startswith(("F", "Ctrl+", "Alt+")) and len(key) < 8:
            last = re.split(r"[+]", key)[-1].lower()
            asked = [recipe.product.by_name(action, rng).lower() for _ in range(20)]
            assert any(last in text or slash in text for text in asked), action


TOOLS = [
    {
        "type": "function",
        "function": {"name": "now", "description": 'The "time", ö.', "parameters": {"type": "object"}},
    },
    {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}},
]
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": " How late? "},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"name": "now", "arguments": {}}},
            {"function": {"name": "add", "arguments": '{"a": "1"}'}},
        ],
    },
    {"role": "tool", "content": "14:05"},
    {"role": "tool", "content": "2"},
    {"role": "assistant", "content": "It is 14:05."},
]


def template(recipe: Any) -> jinja2.Template:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(recipe.template.CHAT_TEMPLATE)


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_the_template_writes_tools_as_the_model_has_seen_them(recipe: Any, system: str) -> None:
    said = [{"role": "system", "content": system}] if system else []
    written = template(recipe).render(messages=[*said, *TALK], tools=TOOLS, add_generation_prompt=True)
    own = recipe.template
    tools = [own.Tool("now", (), 'The "time", ö.'), own.Tool("add", ("a", "b"), "Adds.")]
    flat = [
        {"role": "system", "content": own.listed(system, tools)},
        {"role": "user", "content": "How late?"},
        {"role": "assistant", "content": "\n".join([own.called("now", {}), own.called("add", {"a": "1"})])},
        {"role": "user", "content": "\n".join([own.responded("14:05"), own.responded("2")])},
        {"role": "assistant", "content": "It is 14:05."},
    ]
    assert written == own.render(flat, add_generation_prompt=True)


def test_without_tools_the_template_writes_what_it_always_wrote(recipe: Any) -> None:
    """LocalSpec, llama.cpp's built-in formatter and the recipe agree, so a chat without tools reads as before."""
    import llama_cpp.llama_cpp as c

    source: str = recipe.template.CHAT_TEMPLATE
    talk = [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hello!"), ("user", "Who are you?")]
    chat = [{"role": role, "content": content} for role, content in talk]
    expected = recipe.template.render(chat, add_generation_prompt=True)
    messages = [Message(Role(role), content) for role, content in talk]
    assert str(ChatTemplate(source, bos="", eos="").render(messages)) == expected
    given = (c.llama_chat_message * len(talk))(*[c.llama_chat_message(r.encode(), t.encode()) for r, t in talk])
    room = ctypes.create_string_buffer(1000)
    size = c.llama_chat_apply_template(source.encode(), given, len(talk), True, room, len(room))
    assert room.raw[:size].decode() == expected


def test_calls_name_a_listed_tool_and_their_results_are_answered(recipe: Any) -> None:
    calls = 0
    for chat in sample(recipe, 4000):
        listed = (
            re.findall(r'^\{"name": .*\}$', chat[0]["content"], re.MULTILINE) if chat[0]["role"] == "system" else []
        )
        tools = {tool["name"]: tool["parameters"] for tool in map(json.loads, listed)}
        for before, message in pairwise(chat):
            called = re.fullmatch(r"<tool_call>\n(.*)\n</tool_call>", message["content"], re.DOTALL)
            assert called or "<tool_call>" not in message["content"] or "between" in message["content"]
            if called and message["role"] == "assistant":
                call = json.loads(called[1])
                calls += 1
                assert list(call["arguments"]) == tools[call["name"]]
                assert all(value in before["content"] for value in call["arguments"].values())
                following = chat[chat.index(message) + 1]
                assert following["content"].startswith("<tool_response>\n")
    assert calls > 150


def test_the_answer_to_a_result_has_what_the_tool_said(recipe: Any) -> None:
    answers = 0
    for chat in sample(recipe, 4000):
        for result, answer in pairwise(chat):
            if result["content"].startswith("<tool_response>"):
                answers += 1
                figures = re.findall(r"\d+", answer["content"])
                assert all(figure in result["content"] for figure in figures)
                assert figures or answer["content"].startswith("The tool failed: ")
    assert answers > 150


def test_every_held_out_question_can_be_passed_and_failed(recipe: Any) -> None:
    items = recipe.heldout.items()
    assert len({item.id for item in items}) == len(items)
    assert sum(not item.added for item in items) == 231
    assert sum(item.added for item in items) >= 50
    for item in items:
        assert bool(item.exact) != bool(item.expect), item.id
        assert not any(map(item.passes, ("", "Something else."))), item.id
        assert item.passes(item.exact) if item.exact else all(map(re.compile, item.expect)), item.id


def test_no_chat_with_a_held_out_question_is_trained_on(recipe: Any) -> None:
    """The question of each item that stands alone is left out, with tools or without."""
    keys = recipe.heldout.held_out_keys()
    for item in recipe.heldout.items():
        if len(item.turns) == 1 and not item.system:
            asked = [*item.opening, {"role": "user", "content": f"{item.turns[0].upper()} "}]
            assert not recipe.heldout.untouched(asked, keys), item.id
    assert any(recipe.heldout.untouched(chat, keys) for chat in sample(recipe, 50))


def names_in(schema: dict[str, Any]) -> set[str]:
    """The names of all properties of a schema."""
    properties = schema.get("properties", {})
    inner = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return set(properties).union(*map(names_in, inner))


def test_no_reply_held_to_a_schema_of_the_benchmarks_is_trained_on(recipe: Any) -> None:
    asked = [request["body"] for request in recipe.schemas.requests(400, 1)]
    schemas = [body["response_format"]["json_schema"]["schema"] for body in asked]
    for schema in schemas[:100]:
        json.loads(grammar_of_schema(json.dumps(schema)))
    measured = [
        json.loads(file.read_text()) for file in (RECIPE.parents[1] / "tests/benchmarks/schemas").glob("*.json")
    ]
    assert len(measured) == 3
    told = set().union(*map(names_in, schemas))
    assert len(told) > 60
    assert not told & set().union(*map(names_in, measured))
    keys = recipe.heldout.held_out_keys()
    assert all(recipe.heldout.untouched(body["messages"], keys) for body in asked)


def test_the_draft_learns_from_replies_to_no_question_that_is_held_out(recipe: Any) -> None:
    """Three of five requests ask for a story, and each has a seed of its own."""
    asked = [request["body"] for request in recipe.replies.requests(10, 1)]
    keys = recipe.heldout.held_out_keys()
    assert all(recipe.heldout.untouched(body["messages"], keys) for body in asked)
    assert [body["seed"] for body in asked] == list(range(10))
    questions = [body["messages"][-1]["content"].lower() for body in asked]
    assert sum("story" in question or "tale" in question for question in questions) >= 6


def test_the_answers_of_a_batch_become_conversations(recipe: Any, tmp_path: Path) -> None:
    """Refused requests are left out."""
    asked = list(recipe.schemas.requests(3, 1))
    replies = [
        {"custom_id": "2", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "{}"}}]}}},
        {"custom_id": "0", "response": {"status_code": 400, "body": {"error": {}}}},
        {"custom_id": "1", "response": None, "error": {}},
    ]
    for name, lines in (("asked", asked), ("replies", replies)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = list(recipe.replies.answered(tmp_path / "asked", tmp_path / "replies"))
    assert said == [[*asked[2]["body"]["messages"], {"role": "assistant", "content": "{}"}]]
