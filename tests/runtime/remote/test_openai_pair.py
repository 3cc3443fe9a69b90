"""Models of other servers: text, reasoning, calls and figures as they are told; and servers that tell nonsense."""

from __future__ import annotations

import gc
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import pytest

from localspec.base.errors import EngineError, InputError, LocalSpecError, UsageError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason, Origin, Round, Started, ToolCall
from localspec.engine.settings import Sampling
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool
from localspec.runtime.options import LoadOptions
from localspec.runtime.reasoning import Reasoning
from localspec.runtime.remote import connection, openai_pair
from localspec.runtime.remote.limits import remote_notes
from localspec.runtime.remote.protocol import PAIRS
from tests.hub.certificates import self_signed
from tests.runtime.remote.scripted_server import HANGS, ScriptedServer, answer, delta, models, scripted, stream

QUESTION = (Message(Role.USER, "Hello?"),)
CHAT = "/v1/chat/completions"
LLAMA = {"id": "small.gguf", "owned_by": "llamacpp", "meta": {"n_vocab": 100, "size": 5}}
WELL = stream(delta(role="assistant"), delta(content="Hi"), delta("stop", content="!"))


def connected(url: str, model: str = "", cancel: Cancellation | None = None) -> InspectablePair:
    return open_pair(LoadOptions(Path("server"), server=url, server_pair=model), cancel or Cancellation())


def replied(
    reply: bytes, options: ReplyOptions | None = None, model: Mapping[str, Any] = LLAMA, prefix: str = ""
) -> tuple[list[Event], Any]:
    """The events of a reply to the question, and the JSON that asked for it."""
    with scripted({"/v1/models": [models(model)], CHAT: [reply]}) as server:
        pair = connected(server.url)
        events = list(pair.reply(QUESTION, options or ReplyOptions(), prefix))
        pair.close()
    return events, server.heard[-1][2]


def finished(events: list[Event]) -> Finished:
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    tokens = [token for event in events if isinstance(event, Round) for token in event.tokens]
    assert {token.origin for token in tokens} <= {Origin.PLAIN}
    assert "".join(token.text for token in tokens) == events[-1].text
    return events[-1]


def test_text_comes_as_plain_pieces() -> None:
    end = finished(replied(WELL)[0])
    assert (end.text, end.reason) == ("Hi!", FinishReason.STOP)


def test_figures_and_guesses_are_what_the_server_tells() -> None:
    """No rounds, no origins, no speed-up are made of them."""
    timings = {"prompt_n": 14, "prompt_ms": 7.0, "predicted_n": 20, "predicted_ms": 40.0}
    told = delta("stop") | {"timings": timings | {"draft_n": 30, "draft_n_accepted": 27}}
    figures = finished(replied(stream(delta(content="Hi"), told))[0]).timings
    assert (figures.prompt_n, figures.predicted_n, figures.predicted_per_second) == (14, 20, 500.0)
    assert (figures.draft_n, figures.draft_n_accepted, figures.draft_acceptance_rate) == (30, 27, 0.9)
    assert (figures.rounds_n, figures.origins, figures.speedup_vs_plain) == (0, {"plain": 20}, None)


@pytest.mark.parametrize("predicted_ms", [0.001, 1e-320, -5, True, "7", None])
def test_a_time_that_cannot_be_makes_no_speed(predicted_ms: object) -> None:
    """As llama-server tells of a reply of one token."""
    timings = {"timings": {"predicted_n": 1, "predicted_ms": predicted_ms}}
    assert finished(replied(stream(delta("stop", content="Hi") | timings))[0]).timings.predicted_per_second is None


def test_usage_is_read_where_there_are_no_timings() -> None:
    details = {"accepted_prediction_tokens": 3, "rejected_prediction_tokens": 1}
    usage = {"prompt_tokens": 9, "completion_tokens": 8, "completion_tokens_details": details}
    usage["prompt_tokens_details"] = {"cached_tokens": 4}
    figures = finished(replied(stream(delta("stop", content="Hi"), {"choices": [], "usage": usage}))[0]).timings
    assert (figures.prompt_n, figures.cache_n, figures.predicted_n) == (5, 4, 8)
    assert (figures.draft_n, figures.draft_n_accepted) == (4, 3)


def test_text_and_reasoning_may_come_as_lists_of_parts() -> None:
    """As from Mistral's server."""
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    text = finished(replied(stream(delta(content=thought), delta(content=[{"text": "Yes"}]), delta("stop")))[0]).text
    found = Reasoning.find(text)
    assert found is not None
    assert (found.text, text[found.end :].strip()) == ("Hm.", "Yes")


def test_a_server_that_does_not_stream_answers_as_well() -> None:
    """Its error is told, too."""
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hi!"}, "finish_reason": "stop"}]}
    assert finished(replied(answer(json.dumps(whole).encode()))[0]).text == "Hi!"
    with pytest.raises(LocalSpecError, match="an error: No such model"):
        replied(answer(b'{"error": "No such model."}'))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_told_apart(name: str) -> None:
    thought = (delta(**{name: "Hm"}), delta(**{name: "."}), delta(content="Yes"), delta("stop"))
    text = finished(replied(stream(*thought))[0]).text
    found = Reasoning.find(text)
    assert found is not None
    assert (found.text, text[found.end :].strip()) == ("Hm.", "Yes")


def test_calls_are_put_together() -> None:
    def piece(index: int, **fields: object) -> dict[str, Any]:
        return delta(tool_calls=[{"index": index, **fields}])

    tool = Tool("time", "The time.", '{"type": "object"}')
    chunks = [
        piece(0, id="a", function={"name": "time", "arguments": '{"zo'}),
        piece(1, id="b", function={"name": "time", "arguments": ""}),
        piece(0, function={"arguments": 'ne": 1}'}),
        delta("tool_calls"),
    ]
    events, asked = replied(stream(*chunks), ReplyOptions(tools=(tool,)))
    assert finished(events).calls == (ToolCall("a", "time", '{"zone": 1}'), ToolCall("b", "time", "{}"))
    assert asked["tools"][0]["function"]["parameters"] == {"type": "object"}
    broken = stream(piece(0, id="a", function={"name": "time", "arguments": "{"}), delta("tool_calls"))
    end = finished(replied(broken)[0])
    assert end.calls == ()
    assert end.call_error is not None


def _piece(about: Mapping[str, Any], name: str, arguments: object) -> dict[str, Any]:
    return delta(tool_calls=[{**about, "function": {"name": name, "arguments": arguments}}])


@pytest.mark.parametrize(
    "chunks",
    [
        [_piece({"id": "a"}, "time", '{"x"'), _piece({}, "", ": 1}"), _piece({"id": "b"}, "date", "{}")],
        [_piece({"index": 0, "id": "a"}, "time", '{"x": 1}'), _piece({"index": 0, "id": "b"}, "date", "{}")],
        [_piece({"index": 0, "id": "a"}, "time", {"x": 1}), _piece({"index": 1, "id": "b"}, "date", {})],
        [
            _piece({"index": None, "id": "a"}, "time", ""),
            _piece({"index": None, "id": "c"}, "", '{"x": 1}'),
            _piece({"index": 1, "id": "b"}, "date", ""),
        ],
    ],
)
def test_calls_are_told_apart_whatever_numbers_and_ids_the_server_gives(chunks: list[dict[str, Any]]) -> None:
    end = finished(replied(stream(*chunks, delta("tool_calls")))[0])
    assert end.calls == (ToolCall("a", "time", end.calls[0].arguments), ToolCall("b", "date", "{}"))
    assert json.loads(end.calls[0].arguments) == {"x": 1}


def test_calls_without_ids_are_told_apart_by_their_names() -> None:
    chunks = [_piece({"index": 0, "id": ""}, "time", '{"x": 1}'), _piece({"index": 0, "id": ""}, "date", "{}")]
    end = finished(replied(stream(*chunks, delta("tool_calls")))[0])
    assert [(call.name, call.arguments) for call in end.calls] == [("time", '{"x": 1}'), ("date", "{}")]
    assert len({call.id for call in end.calls}) == 2


def test_a_reply_ends_where_the_server_says_so_with_or_without_a_reason() -> None:
    chunks = (delta(content="Hi") | {"error": None}, delta(content="!") | {"error": None})
    assert finished(replied(stream(*chunks))[0]).text == "Hi!"


@pytest.mark.parametrize(
    "page",
    [
        answer(b"<!doctype html>"),
        answer(b"", "302 Found", Location="/login"),
        answer(b"{}", "404 Not Found"),
        answer(b'{"message":"Missing Authentication Token"}', "403 Forbidden"),
    ],
)
def test_a_server_may_have_a_page_for_every_path(page: bytes) -> None:
    props = "/props?model=small.gguf"
    with scripted({PAIRS: [page], props: [page], "/v1/models": [models(LLAMA)], CHAT: [WELL]}) as server:
        pair = connected(server.url)
        assert finished(list(pair.reply(QUESTION, ReplyOptions()))).text == "Hi!"
        pair.close()


@pytest.mark.parametrize("nothing", [answer(b"", "404 Not Found"), answer(b"<html>", "400 Bad Request")])
@pytest.mark.parametrize("end", ["", "/"])
def test_an_address_may_be_that_of_an_api_with_another_version(nothing: bytes, end: str) -> None:
    answers = {"/v1/models": [nothing], "/models": [models(LLAMA)], "/chat/completions": [WELL]}
    with scripted({f"/v1beta/openai{path}": given for path, given in answers.items()}) as server:
        pair = connected(f"{server.url}/v1beta/openai{end}")
        assert finished(list(pair.reply(QUESTION, ReplyOptions()))).text == "Hi!"
        pair.close()
    with scripted({"/models": [models(LLAMA)]}) as server, pytest.raises(LocalSpecError, match="no server with OpenAI"):
        connected(server.url)


def test_a_router_is_asked_for_the_facts_of_the_model_itself() -> None:
    """A llama-server with several models has none of its own, and loads the one that is asked about: one is already."""
    own = answer(b'{"role": "router", "default_generation_settings": {"n_ctx": 0}}')
    facts = answer(b'{"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": true}}')
    waiting, ready = ({"owned_by": "llamacpp", "status": {"value": value}} for value in ("unloaded", "loaded"))
    listed = models({"id": "org/large", **waiting}, {"id": "org/qwen", **ready})
    with scripted({"/v1/models": [listed], "/props": [own], "/props?model=org%2Fqwen": [facts]}) as server:
        pair = connected(server.url)
        pair.close()
    assert pair.info.n_ctx == 4096
    assert pair.info.projector is not None


@pytest.mark.parametrize(
    "answers",
    [
        {PAIRS: [answer(rb'{"localspec": "1", "pairs": [{"id": "\ud800"}]}')]},
        {"/v1/models": [models(LLAMA | {"id": "\ud800"})], "/props?model=%3F": [answer(b"", "500 Oops")]},
    ],
)
def test_a_name_with_half_a_character_is_asked_for_all_the_same(answers: dict[str, list[bytes]]) -> None:
    with scripted(answers) as server, pytest.raises(LocalSpecError, match=r"does not have this|failed"):
        connected(server.url)


def test_an_embedding_model_is_chosen_only_by_name() -> None:
    listed = models({"id": "text-embedding-small"}, {"id": "qwen"})
    with scripted({"/v1/models": [listed], CHAT: [WELL]}) as server:
        for name in ("", "text-embedding-small"):
            pair = connected(server.url, name)
            finished(list(pair.reply(QUESTION, ReplyOptions())))
            pair.close()
    assert [body["model"] for _, _, body in server.heard if body] == ["qwen", "text-embedding-small"]


def test_the_conversation_goes_out_in_openais_form() -> None:
    said = (
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.ASSISTANT, "<think>\nHm.\n</think>\n\nYes.", (ToolCall("a", "time", "{}"),)),
        Message(Role.TOOL, "noon", call_id="a", name="time"),
    )
    with scripted({"/v1/models": [models(LLAMA)], CHAT: [WELL]}) as server:
        list(connected(server.url).reply(said, ReplyOptions(seed=4, max_tokens=9, stop=("x",)), "It is"))
    body = server.heard[-1][2]
    call = {"id": "a", "type": "function", "function": {"name": "time", "arguments": "{}"}}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Yes.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "noon"},
        {"role": "assistant", "content": "It is"},
    ]
    assert (body["seed"], body["max_tokens"], body["stop"], body["model"]) == (4, 9, ["x"], "small.gguf")


def test_a_call_that_could_not_be_read_goes_out_without_a_name_that_servers_refuse() -> None:
    """Its result becomes a message of the user, so that the conversation goes on."""
    said = (
        Message(Role.USER, "What time is it?"),
        Message(Role.ASSISTANT, "Let me see.", (ToolCall("unread", "", "{}"),)),
        Message(Role.TOOL, "The arguments are no JSON object.", call_id="unread", name=""),
    )
    with scripted({"/v1/models": [models(LLAMA)], CHAT: [WELL]}) as server:
        list(connected(server.url).reply(said, ReplyOptions()))
    assert server.heard[-1][2]["messages"] == [
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": "Let me see."},
        {"role": "user", "content": "The arguments are no JSON object."},
    ]


def test_each_kind_of_server_gets_the_settings_that_it_has() -> None:
    """The others are said, with the server's name."""
    options = ReplyOptions(Sampling(temperature=0.5, top_k=7, repeat_penalty=1.1, xtc_probability=0.2))
    assert replied(WELL, options)[1].items() >= {"top_k": 7, "repeat_penalty": 1.1, "xtc_probability": 0.2}.items()
    asked = replied(WELL, options, {"id": "big", "owned_by": "vllm"})[1]
    assert (asked["temperature"], asked["top_k"], asked["repetition_penalty"]) == (0.5, 7, 1.1)
    assert not {"xtc_probability", "repeat_penalty"} & asked.keys()
    with scripted({"/v1/models": [models({"id": "any", "max_model_len": 77})]}) as server:
        pair = connected(server.url)
        config = ChatConfig(LoadOptions(Path("server"), server=server.url), options)
        (alone, unsent) = remote_notes(config, pair.info)
        pair.close()
    assert pair.info.n_ctx == 77
    assert "sends text only" in alone
    assert unsent.endswith("no effect: top_k, xtc_probability, repeat_penalty.")


@pytest.mark.parametrize(
    ("reasoning", "server", "other"),
    [
        (None, {}, {}),
        ("off", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}, {"reasoning_effort": "none"}),
        ("on", {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}, {"reasoning_effort": "medium"}),
        ("low", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
    ],
)
def test_reasoning_is_asked_for_as_the_server_takes_it(
    reasoning: str | None, server: dict[str, Any], other: dict[str, Any]
) -> None:
    """A server that fills in the model's template by the switch of templates, another by an effort."""
    options = ReplyOptions(reasoning=reasoning)
    for expected, model in ((server, {"id": "big", "owned_by": "vllm"}), (other, {"id": "big"})):
        body = replied(WELL, options, model)[1]
        assert {name: body[name] for name in ("chat_template_kwargs", "reasoning_effort") if name in body} == expected


def test_a_grammar_is_never_left_out_in_silence() -> None:
    schema = '{"grammars":[{"json_schema":{"type":"object"}}]}'
    asked = replied(WELL, ReplyOptions(Sampling(grammar=schema)), {"id": "big", "owned_by": "vllm"})[1]
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert replied(WELL, ReplyOptions(Sampling(grammar='root ::= "a"')))[1]["grammar"] == 'root ::= "a"'
    with pytest.raises(UsageError, match="--grammar"):
        replied(WELL, ReplyOptions(Sampling(grammar='root ::= "a"')), {"id": "any"})


def test_questions_about_tokens_are_refused_in_a_sentence() -> None:
    with scripted({"/v1/models": [models(LLAMA)]}) as server:
        pair = connected(server.url)
        with pytest.raises(UsageError, match="sends text only"):
            pair.inspector.inspect(QUESTION, ReplyOptions(), (1,), 0)
        pair.close()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (stream(delta(content="Hi"), end=b""), "broke off in the middle"),
        (stream(delta("", content="Hi"), end=b""), "broke off in the middle"),
        (answer(b"data: {", Content_Length="99"), "broke off in the middle"),
        (answer(b"data: {\n\n"), "no JSON"),
        (answer(b"data: [1]\n\n"), "no object"),
        (
            answer(b"<!DOCTYPE html>\n<html></html>"),
            "a web page, which LocalSpec does not understand. Is it a server with",
        ),
        (answer(b"\x00\xff" * 2000), "broke off in the middle"),
        (stream({"error": {"message": "no \x1b[2J room"}}), "an error: no ␛[2J room. Try again."),
        (stream({"object": "error", "message": "No room.", "code": 500}), "an error: No room. Try again."),
        (stream(delta(tool_calls=[{"index": "x"}])), "calls of tools"),
        (answer(b'{"error":{"message":"Who are you?"}}', "401 Unauthorized"), "Who are you? Set LOCALSPEC_API_KEY"),
        (
            answer(b'{"kind":"Failed","message":"Not by that name.","hint":"Use localhost."}', "403 No"),
            "name. Use localhost.",
        ),
        (answer(b'{"error":{"type":"exceed_context_size_error"}}', "400 Bad Request"), "start a new chat"),
        (answer(b"{}", "429 Too Many Requests", Retry_After="7"), "Send the message again in 7 seconds"),
        (answer(b"", "503 Service Unavailable"), "Send the message again later"),
        (answer(b'{"error":"too \x1b]0;long"}', "400 Bad Request"), "(status 400)"),
        (answer(b"<html>", "502 Bad Gateway"), "failed (status 502)"),
        (answer(b'{"detail":[{"loc":["body"],"msg":"seed?"}]}', "422 Oops"), "(status 422): seed? Change it"),
        (answer(b'[{"error":{"message":"Bad seed"}}]', "400 Bad Request"), "(status 400): Bad seed. Change it"),
        (answer(b"", "302 Found", Location="http://127.0.0.1:1/"), "(status 302): it refers to http://127.0.0.1:1/,"),
    ],
)
def test_a_server_that_fails_is_an_error_and_the_next_reply_is_asked_for(reply: bytes, message: str) -> None:
    with scripted({"/v1/models": [models(LLAMA)], CHAT: [reply, WELL]}) as server:
        pair = connected(server.url)
        with pytest.raises(LocalSpecError) as raised:
            list(pair.reply(QUESTION, ReplyOptions()))
        assert message in str(raised.value)
        assert str(raised.value).isprintable()
        assert finished(list(pair.reply(QUESTION, ReplyOptions()))).text == "Hi!"
        pair.close()


def unsupported(field: str, code: str = "unsupported_parameter") -> bytes:
    """The refusal of one of OpenAI's newest models."""
    error = {"message": f"'{field}' is not supported with this model.", "param": field, "code": code}
    return answer(json.dumps({"error": error}).encode(), "400 Bad Request")


def asked_of(server: ScriptedServer) -> list[Any]:
    """The JSON of each request for a reply."""
    return [body for path, _, body in server.heard if path == CHAT]


def test_a_model_that_does_not_take_every_field_is_asked_without_it() -> None:
    """The limit has another name, and later replies are asked for at once."""
    options = ReplyOptions(max_tokens=9)
    refusals = [unsupported("max_tokens"), unsupported("temperature", "unsupported_value"), unsupported("top_p")]
    with scripted({"/v1/models": [models({"id": "new"})], CHAT: [*refusals, WELL]}) as server:
        pair = connected(server.url)
        assert [finished(list(pair.reply(QUESTION, options))).text for _ in range(2)] == ["Hi!"] * 2
        pair.close()
    first, *others, last_but_one, last = asked_of(server)
    assert (first["max_tokens"], "temperature" in first, "top_p" in first) == (9, True, True)
    assert last == last_but_one
    assert len(others) == len(refusals) - 1
    assert last["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature", "top_p"} & last.keys()


@pytest.mark.parametrize(
    ("field", "set_by_user"), [("temperature", Sampling(temperature=0.3)), ("messages", None), ("seed", None)]
)
def test_nothing_that_is_asked_for_is_left_out(field: str, set_by_user: Sampling | None) -> None:
    """The server's reason is told; once more it would say the same."""
    options = ReplyOptions(seed=5, sampling=set_by_user or Sampling())
    with scripted({"/v1/models": [models({"id": "new"})], CHAT: [unsupported(field), WELL]}) as server:
        pair = connected(server.url)
        with pytest.raises(InputError, match=f"'{field}' is not supported with this model"):
            list(pair.reply(QUESTION, options))
        pair.close()
    assert len(asked_of(server)) == 1


def test_a_server_that_refuses_what_was_left_out_is_asked_no_further() -> None:
    with scripted({"/v1/models": [models({"id": "new"})], CHAT: [unsupported("temperature")]}) as server:
        pair = connected(server.url)
        with pytest.raises(InputError, match="is not supported"):
            list(pair.reply(QUESTION, ReplyOptions()))
        pair.close()
    assert len(asked_of(server)) == 2


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Finalizers of what other tests left fail at the deepest point of a recursion, and pytest tells of that."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("path", "status", "message"),
    [(PAIRS, "200 OK", "no LocalSpec"), ("/v1/models", "200 OK", "no JSON"), (PAIRS, "500 Oops", "failed")],
)
def test_an_answer_that_is_nested_without_end_is_an_error(path: str, status: str, message: str) -> None:
    with scripted({path: [answer(b"[" * 200_000, status)]}) as server, pytest.raises(LocalSpecError, match=message):
        connected(server.url)


def test_the_end_of_a_stream_is_heard_without_the_space_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server need not close the connection after it."""
    monkeypatch.setattr(openai_pair, "SILENCE_S", 0.05)
    assert finished(replied(stream(delta("stop", content="Hi"), end=b"data:[DONE]\n\n" + HANGS))[0]).text == "Hi"


def test_a_server_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_pair, "SILENCE_S", 0.05)
    with pytest.raises(LocalSpecError, match="silent for too long"):
        replied(stream(delta(content="Hi"), end=HANGS))


def test_escape_ends_a_reply_of_a_server_that_is_silent() -> None:
    cancel = Cancellation()
    with scripted({"/v1/models": [models(LLAMA)], CHAT: [stream(delta(content="Hi"), end=HANGS)]}) as server:
        pair = connected(server.url, cancel=cancel)
        events = []
        for event in pair.reply(QUESTION, ReplyOptions()):
            events.append(event)
            if isinstance(event, Round):
                Timer(0.05, cancel.set).start()
        pair.close()
    assert finished(events).reason is FinishReason.CANCELLED


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LONGEST_LINE_BYTES", 1000)
    with pytest.raises(LocalSpecError, match="does not end"):
        replied(answer(b"data: " + b"a" * 5000, Content_Length="9000"))


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not into the text of any error either."""
    monkeypatch.setenv("LOCALSPEC_API_KEY", "sk-secret")
    refusal = answer(b'{"error":{"message":"wrong key"}}', "401 Unauthorized")
    with scripted({"/v1/models": [refusal]}) as server, pytest.raises(LocalSpecError) as raised:
        connected(server.url)
    assert {headers.get("authorization") for _, headers, _ in server.heard} == {"Bearer sk-secret"}
    assert "secret" not in str(raised.value)


def test_a_certificate_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the authorities of the environment; and no proxy stands between two programs of this machine."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    made = self_signed(tmp_path)
    with scripted({"/v1/models": [models(LLAMA)], CHAT: [WELL]}, made.server_side()) as server:
        with pytest.raises(LocalSpecError, match=r"certificate of 127\.0\.0\.1:.* is not accepted"):
            connected(server.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
        pair = connected(server.url)
        assert finished(list(pair.reply(QUESTION, ReplyOptions()))).text == "Hi!"
        pair.close()


def test_an_address_with_https_of_a_server_without_is_told_apart_from_a_wrong_certificate() -> None:
    def greet(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=greet, args=(listening,), daemon=True).start()
        with pytest.raises(EngineError, match=r"is not possible.*write http://"):
            connected(f"https://127.0.0.1:{listening.getsockname()[1]}")


def test_a_model_that_is_not_there_is_named_with_those_that_are() -> None:
    listed = {"/v1/models": [models({"id": "one"}, {"id": "two\x1b[0m"})]}
    with scripted(listed) as server, pytest.raises(LocalSpecError, match="no model three") as raised:
        connected(server.url, "three")
    assert str(raised.value).isprintable()
