"""llama-server's own endpoints."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar

import httpx2
import pytest

from localspec.base.errors import EngineError, InputError
from localspec.engine.events import Alternative, Finished, FinishReason, PromptProgress, Round, TokenLogprobs
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Infill, Message, Role, TokenIds
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Detokenize, Detokenized, Render, Rendered, Tokenize, Tokenized
from localspec.server.app import make_app
from tests.builtin import TARGET
from tests.server.fakes import INFO, PAIR, FakeService, Step, said, served


@asynccontextmanager
async def client_of(*replies: Sequence[Step], **given: Any) -> AsyncGenerator[tuple[httpx2.AsyncClient, FakeService]]:
    service = FakeService(replies, **given)
    async with served(make_app(service)) as url, httpx2.AsyncClient(base_url=url) as client:
        yield client, service


def events_of(answer: httpx2.Response) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]


async def test_health_facts_and_places() -> None:
    config = ChatConfig(LoadOptions(TARGET), pair_id=PAIR)
    pair = replace(INFO, replies=2, why_fewer="the memory has no room for more contexts")
    async with client_of(config=config, pair=pair) as (client, _):
        assert [(await client.get(path)).json() for path in ("/health", "/v1/health")] == [{"status": "ok"}] * 2
        props = (await client.get("/props", params={"model": PAIR})).json()
        slots = (await client.get("/slots")).json()
        listed = [(await client.get(path)).json() for path in ("/models", "/v1/models")]
        unknown = await client.get("/props?model=nobody")
    assert (props["total_slots"], props["model_path"], props["model_alias"]) == (2, TARGET.name, PAIR)
    assert props["total_slots_why"] == "It makes 2 replies at once: the memory has no room for more contexts."
    assert props["default_generation_settings"]["params"]["temperature"] == 0.8
    assert "{%" in props["chat_template"]
    assert [(slot["id"], slot["is_processing"], slot["n_ctx"]) for slot in slots] == [(0, True, 512), (1, False, 512)]
    assert all(slot.keys() == {"id", "n_ctx", "speculative", "is_processing"} for slot in slots)
    assert listed[0] == listed[1]
    assert unknown.status_code == 404


async def test_health_while_another_machine_is_silent() -> None:
    """A load balancer asks somebody else, and is told no address."""
    async with client_of(silence="no answer from the RPC server spare:50052 for 20 s") as (client, _):
        answer = await client.get("/health")
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "server_error")
    assert "does not answer" in answer.text
    assert "spare" not in answer.text


async def test_tokens_and_prompts() -> None:
    answers = [
        Tokenized(0, (1, 2), (b"a", b"\xc3")),
        Tokenized(0, (1, 2), (b"a", b"\xc3")),
        Detokenized(0, "a b"),
        Rendered(0, "<user>Hello", 5),
    ]
    async with client_of(answers=answers) as (client, service):
        ids = await client.post("/tokenize", json={"content": "a", "add_special": True})
        pieces = await client.post("/tokenize", json={"content": "a", "with_pieces": True, "parse_special": False})
        text = await client.post("/detokenize", json={"tokens": [1, 2]})
        prompt = await client.post(
            "/apply-template",
            json={"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]},
        )
        wrong = await client.post("/detokenize", json={"tokens": [1, "2"]})
    assert ids.json() == {"tokens": [1, 2]}
    assert pieces.json() == {"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [0xC3]}]}
    assert (text.json(), prompt.json()) == ({"content": "a b"}, {"prompt": "<user>Hello"})
    assert wrong.status_code == 400
    assert service.questions == [
        Tokenize(0, "a", special=True, bos=True),
        Tokenize(0, "a"),
        Detokenize(0, (1, 2)),
        Render(0, (Message(Role.USER, "Hello"),), (), "Hi"),
    ]


class WatchedPiece(bytes):
    """The bytes of a token, which know the threads that read them."""

    readers: ClassVar[set[threading.Thread]] = set()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.readers.add(threading.current_thread())
        return super().decode(encoding, errors)


async def test_the_pieces_of_a_long_text_are_written_beside_the_event_loop() -> None:
    async with client_of(answers=[Tokenized(0, (1,), (WatchedPiece(b"a"),))]) as (client, _):
        answer = await client.post("/tokenize", json={"content": "a", "with_pieces": True})
    assert answer.json() == {"tokens": [{"id": 1, "piece": "a"}]}
    assert WatchedPiece.readers
    assert threading.current_thread() not in WatchedPiece.readers


async def test_texts_that_would_keep_replies_waiting_are_refused() -> None:
    long = "a" * 1_000_001
    messages = [{"role": "user", "content": long}]
    async with client_of() as (client, service):
        answers = [
            await client.post(path, json=body)
            for path, body in (
                ("/tokenize", {"content": long}),
                ("/apply-template", {"messages": messages}),
                ("/completion", {"prompt": [1, long]}),
                ("/v1/completions", {"prompt": long, "echo": True}),
                ("/v1/messages/count_tokens", {"messages": messages}),
                ("/v1/responses/input_tokens", {"input": long}),
            )
        ]
    assert [answer.status_code for answer in answers] == [400] * 6
    assert all("Send the text in parts" in answer.text for answer in answers)
    assert not service.questions


async def test_a_completion_in_one_piece_and_streamed() -> None:
    sent = {"prompt": "Once", "n_predict": 4, "seed": 3, "return_tokens": True, "stop": ["END"], "top_k": 5}
    reply = said(" upon", "\na", reason=FinishReason.LENGTH)
    reply.insert(1, PromptProgress(5, 10))
    async with client_of(reply) as (client, service):
        whole = (await client.post("/completion", json=sent)).json()
        stream = events_of(await client.post("/completion", json={**sent, "stream": True, "return_progress": True}))
        chosen = (
            await client.post(
                "/completion", json={**sent, "response_fields": ["content", "generation_settings/n_predict", "no/such"]}
            )
        ).json()
    assert (whole["content"], whole["tokens"], whole["stop"], whole["stop_type"]) == (" upon\na", [0, 1], True, "limit")
    assert (whole["tokens_predicted"], whole["tokens_evaluated"], whole["tokens_cached"]) == (2, 10, 4)
    assert (whole["prompt"], whole["has_new_line"], whole["truncated"], whole["model"]) == ("Once", True, False, PAIR)
    assert (whole["generation_settings"]["n_predict"], whole["generation_settings"]["seed"]) == (4, 7)
    assert whole["timings"]["draft_n"] == 2
    progress = stream[0]["prompt_progress"]
    assert (progress["total"], progress["cache"], progress["processed"]) == (10, 4, 5)
    assert [(each["content"], each["tokens"], each["stop"]) for each in stream[1:]] == [
        (" upon", [0], False),
        ("\na", [1], False),
        ("", [], True),
    ]
    assert chosen == {"content": " upon\na", "generation_settings/n_predict": 4}
    options = service.asked[0].options
    assert (options.max_tokens, options.seed, options.stop, options.sampling.top_k) == (4, 3, ("END",), 5)


@pytest.mark.parametrize("path", ["/completion", "/infill"])
@pytest.mark.parametrize(
    ("pieces", "most_ms", "shown"),
    [
        (("a", "\n", "b", "c", "d", "e"), 1e-6, "a\nbc"),
        (("a", "b", "c", "\n", "e", "f"), 1e-6, "abc\n"),
        (("a", "b", "c", "d"), 1e-6, "abcd"),
        (("a", "\n", "b", "c", "d", "e"), 0, "a\nbcde"),
    ],
)
async def test_a_line_may_have_its_time(path: str, pieces: Sequence[str], most_ms: float, shown: str) -> None:
    """Then the reply ends with the round, but not before it has a line break, as editors ask of completions."""
    sent = {"prompt": "a", "input_prefix": "a", "input_suffix": "b", "t_max_predict_ms": most_ms}
    async with client_of(said(*pieces, reason=FinishReason.LENGTH)) as (client, service):
        whole = (await client.post(path, json=sent)).json()
    assert (whole["content"], whole["stop_type"], whole["tokens_predicted"]) == (shown, "limit", len(shown))
    assert service.closed_n == (len(shown) < len("".join(pieces)))


async def test_a_prompt_is_made_by_the_models_own_template() -> None:
    """Another one is refused, and so is another way to fill it in."""
    messages = [{"role": "user", "content": "Hello"}]
    async with client_of(answers=[Rendered(0, "<user>Hello", 5)] * 2) as (client, service):
        for name, value in (("chat_template", "x"), ("chat_template_kwargs", {"a": 1}), ("add_generation_prompt", 0)):
            answer = await client.post("/apply-template", json={"messages": messages, name: value})
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
        plain = {"chat_template_kwargs": {}, "add_generation_prompt": True}
        assert (await client.post("/apply-template", json={"messages": messages, **plain})).status_code == 200
        switched = {"chat_template_kwargs": {"enable_thinking": False}}
        assert (await client.post("/apply-template", json={"messages": messages, **switched})).status_code == 200
    asked = [question.reasoning for question in service.questions if isinstance(question, Render)]
    assert asked == [None, "off"]


async def test_the_end_of_a_completion_has_its_kind() -> None:
    *events, finished = said("Yes")
    assert isinstance(finished, Finished)
    async with client_of([*events, finished], [*events, replace(finished, stop="END")]) as (client, _):
        ended = [(await client.post("/completion", json={"prompt": "a"})).json() for _ in range(2)]
    assert [(each["stop_type"], each["stopping_word"]) for each in ended] == [("eos", ""), ("word", "END")]


async def test_prompts_are_texts_tokens_or_both_and_may_be_several() -> None:
    answers = [Tokenized(0, (8, 9), (b"a", b"b"))]
    async with client_of(said("Yes."), answers=answers) as (client, service):
        for prompt in ("a", [1, 2], {"prompt_string": "b"}, [1, "ab", 2]):
            assert (await client.post("/completion", json={"prompt": prompt})).json()["content"] == "Yes."
        several = (await client.post("/completion", json={"prompt": ["a", [1, 2]], "n_cmpl": 2, "seed": 5})).json()
    prompts = [asked.prompt for asked in service.asked]
    assert prompts[:4] == ["a", TokenIds((1, 2)), "b", TokenIds((1, 8, 9, 2))]
    assert prompts[4:] == ["a", "a", TokenIds((1, 2)), TokenIds((1, 2))]
    assert [asked.options.seed for asked in service.asked[4:]] == [5, 6, 5, 6]
    assert [(each["index"], each["prompt"]) for each in several] == [(0, "a"), (1, "a"), (2, ""), (3, "")]


async def test_probabilities_and_biases() -> None:
    started, round_, finished = said("Yes")
    assert isinstance(round_, Round)
    probabilities = TokenLogprobs(b"Yes", -0.5, (Alternative(5, b"No", -1.0),))
    tokens = (replace(round_.tokens[0], logprobs=probabilities), *round_.tokens[1:])
    reply = [started, replace(round_, tokens=tokens), finished]
    bias = [["no", -100], [7, False]]
    async with client_of(reply, answers=[Tokenized(0, (5, 6), (b"n", b"o"))]) as (client, service):
        sent = {"prompt": "a", "n_probs": 1, "logit_bias": bias}
        answer = (await client.post("/completion", json=sent)).json()
    (one,) = answer["completion_probabilities"]
    assert (one["id"], one["token"], one["logprob"]) == (0, "Yes", -0.5)
    assert [(each["id"], each["token"]) for each in one["top_logprobs"]] == [(5, "No")]
    assert service.asked[0].options.sampling.logit_bias == ((5, -100.0), (6, -100.0), (7, float("-inf")))
    assert answer["generation_settings"]["logit_bias"][1:] == [{"token": 6, "bias": -100}, {"token": 7, "bias": False}]
    assert service.asked[0].options.logprobs == 1


async def test_a_gap_is_filled() -> None:
    sent = {
        "input_prefix": "def f(",
        "input_suffix": "return 1",
        "prompt": "a",
        "input_extra": [{"filename": "a.py", "text": "x = 1"}],
    }
    async with client_of(said("):"), [InputError("This model fills no gaps.")]) as (client, service):
        answer = await client.post("/infill", json=sent)
        refused = await client.post("/infill", json=sent)
        wrong = await client.post("/infill", json={"input_prefix": "a"})
    assert answer.json()["content"] == "):"
    assert service.asked[0].prompt == Infill("def f(", "return 1", (("a.py", "x = 1"),))
    assert service.asked[0].prefix == "a"
    assert (refused.status_code, wrong.status_code) == (400, 400)
    assert wrong.json()["error"]["param"] == "input_suffix"


async def test_a_prompt_may_be_read_alone() -> None:
    """Editors have their other files read before a gap is to be filled. The one token of the reply is not shown."""
    sent = {"input_prefix": "", "input_suffix": "", "n_predict": 0, "return_tokens": True}
    async with client_of(said("):", reason=FinishReason.LENGTH)) as (client, service):
        whole = (await client.post("/infill", json=sent)).json()
        (last,) = events_of(await client.post("/infill", json={**sent, "stream": True}))
    assert [(each["content"], each["tokens"], each["stop"]) for each in (whole, last)] == [("", [], True)] * 2
    assert [asked.options.max_tokens for asked in service.asked] == [1, 1]


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": [True]}, "prompt"),
        ({"prompt": {"prompt_string": "a", "multimodal_data": ["x"]}}, "prompt"),
        ({"prompt": "a", "post_sampling_probs": True}, "post_sampling_probs"),
        ({"prompt": "a", "lora": [{"id": 0, "scale": 0.5}]}, "lora"),
        ({"prompt": "a", "n_probs": 200}, "n_probs"),
        ({"prompt": "a", "n_predict": -2}, "n_predict"),
        ({"prompt": "a", "logit_bias": [5]}, "logit_bias"),
        ({"prompt": "a", "logit_bias": 5}, "logit_bias"),
        ({"prompt": "a", "logit_bias": [[[5], 1]]}, "logit_bias"),
        ({"prompt": "a", "n_cmpl": 1000}, "n_cmpl"),
        ({"prompt": ["a"] * 65, "n_cmpl": 2}, "prompt"),
    ],
)
async def test_a_wrong_completion_names_its_field(sent: dict[str, Any], place: str) -> None:
    async with client_of(said("Yes.")) as (client, service):
        answer = await client.post("/completion", json=sent)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == place
    assert not service.asked


async def test_an_error_in_a_stream_is_told() -> None:
    async with client_of([*said("Hel")[:2], EngineError("It stopped.")]) as (client, _):
        *_, last = events_of(await client.post("/completion", json={"prompt": "a", "stream": True}))
    assert last["error"]["message"] == "It stopped."


async def test_the_end_may_be_ignored() -> None:
    async with client_of(said("Yes.", reason=FinishReason.LENGTH)) as (client, service):
        whole = (await client.post("/completion", json={"prompt": "a", "ignore_eos": True})).json()
        await client.post("/v1/completions", json={"prompt": "a", "ignore_eos": True})
        await client.post("/completion", json={"prompt": "a", "ignore_eos": False})
    assert whole["generation_settings"]["ignore_eos"] is True
    assert [each.options.ignore_end for each in service.asked] == [True, True, False]
