"""``localspec run``: what reaches standard output and standard error, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import CapacityError, ModelFileError, PairMismatchError
from localspec.config.text_folder import PROMPTS
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions, Role
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

TIMING_NAMES = {
    *("prompt_n", "prompt_ms", "cache_n", "predicted_n", "predicted_ms", "predicted_per_second"),
    *("draft_n", "draft_n_accepted", "draft_acceptance_rate", "mean_acceptance_length", "accepted_per_pos"),
    "speedup_vs_plain",
}


def events_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_the_text_stands_on_standard_output_alone(localspec: Localspec) -> None:
    """Standard output is the reply and a line end; the figures are one line on standard error."""
    text = events_of(localspec("run", *FILES, "--json", "hello there").out)[-1]["text"]
    done = localspec("run", *FILES, "hello there")
    assert done.code == 0
    assert done.out == (text if text.endswith("\n") else text + "\n")
    assert done.err.count("\n") == 1
    for words in ("tokens", "tokens/s", "speed-up", "acceptance", "mean acceptance length", "depth 3", "drafter draft"):
        assert words in done.err
    assert done.err.endswith("pair big + small\n")


def test_the_json_contract(localspec: Localspec) -> None:
    """start, rounds and done, one object a line, under the names that scripts rely on; the texts add up."""
    done = localspec("run", *FILES, "--json", "--seed", "7", "hello there")
    events = events_of(done.out)
    assert [event["event"] for event in events] == ["start", *["round"] * (len(events) - 2), "done"]
    start, rounds, end = events[0], events[1:-1], events[-1]
    assert {"pair", "target", "draft", "n_ctx", "device", "options", "seed", "prompt_n", "cache_n"} <= start.keys()
    assert (start["pair"], start["target"], start["draft"], start["seed"]) == (None, "big.gguf", "small.gguf", 7)
    assert len(rounds) > 2
    for index, round_ in enumerate(rounds):
        assert round_["index"] == index
        assert {"drafter", "depth", "tokens", "rejected", "draft_ms", "verify_ms"} <= round_.keys()
        assert all({"id", "text", "origin"} <= token.keys() for token in round_["tokens"])
        assert all({"id", "text"} <= proposal.keys() for proposal in round_["rejected"])
    tokens = [token for round_ in rounds for token in round_["tokens"]]
    assert "".join(token["text"] for token in tokens) == end["text"]
    assert end["reason"] in {"stop", "length"}
    assert end["timings"].keys() >= TIMING_NAMES
    assert end["timings"]["predicted_n"] == len(tokens)
    assert end["timings"]["draft_n_accepted"] == sum(token["origin"] == "accepted" for token in tokens)
    assert done.err.count("\n") == 1


def test_every_option_arrives(localspec: Localspec) -> None:
    """What is said on the command line is what the pair is opened and asked with."""
    world = FakeWorld()
    done = localspec(
        *("run", *FILES, "--spec", "draft", "--depth", "5", "--temperature", "0.5", "--top-k", "9", "--top-p", "0.8"),
        *("--min-p", "0.1", "--seed", "3", "--max-tokens", "11", "--stop", "x", "--stop", "y", "--system", "Be brief."),
        *("--ctx", "300", "--threads", "2", "--gpu-layers", "4", "--json", "hello"),
        world=world,
    )
    (load,) = world.loads
    assert (load.target, load.draft) == (Path("big.gguf"), Path("small.gguf"))
    assert (load.n_ctx, load.threads, load.gpu_layers) == (300, 2, 4)
    ((prompt, options),) = world.pairs[0].asked
    assert prompt == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "hello"))
    assert options == ReplyOptions(
        sampling=Sampling(temperature=0.5, top_k=9, top_p=0.8, min_p=0.1),
        spec=("draft",),
        depth=5,
        seed=3,
        repeatable=True,
        max_tokens=11,
        stop=("x", "y"),
    )
    said = events_of(done.out)[0]["options"]
    assert (said["spec"], said["depth"], said["temperature"], said["system"]) == (["draft"], 5, 0.5, "Be brief.")
    assert world.pairs[0].closed


@pytest.mark.parametrize(
    ("given", "spec", "depth"),
    [
        ((), None, None),
        (("--spec", "auto", "--depth", "auto"), None, None),
        (("--spec", "off"), (), None),
        (("--spec", "draft", "--depth", "0"), ("draft",), 0),
    ],
)
def test_auto_and_off(localspec: Localspec, given: tuple[str, ...], spec: tuple[str, ...] | None, depth: int) -> None:
    """auto leaves the choice to LocalSpec; off asks for no drafters."""
    world = FakeWorld()
    assert localspec("run", *FILES, *given, "hello", world=world).code == 0
    options = world.pairs[0].asked[0][1]
    assert (options.spec, options.depth) == (spec, depth)


def test_raw_text_meets_no_template(localspec: Localspec) -> None:
    """With --raw the pair is asked with the text itself."""
    world = FakeWorld()
    assert localspec("run", *FILES, "--raw", "Once upon", world=world).code == 0
    assert world.pairs[0].asked[0][0] == "Once upon"


@pytest.mark.parametrize(
    ("words", "stdin", "prompt"),
    [
        (("tell", "me"), b"", "tell me"),
        ((), b"piped text\n", "piped text"),
        (("-",), b"piped text\r\n", "piped text"),
        (("Summarise:",), b"a\n\nb\n\n", "Summarise:\n\na\n\nb\n"),
        (("Summarise:", "-"), b"text", "Summarise:\n\ntext"),
        (("hello",), b" \n", "hello"),
        ((), "\ufeffgrüße".encode(), "grüße"),
    ],
)
def test_where_the_prompt_comes_from(localspec: Localspec, words: tuple[str, ...], stdin: bytes, prompt: str) -> None:
    """Words, standard input, or the one after the other with an empty line between."""
    world = FakeWorld()
    assert localspec("run", *FILES, *words, world=world, stdin=stdin).code == 0
    assert world.pairs[0].asked[0][0] == (Message(Role.USER, prompt),)


@pytest.mark.parametrize(
    ("given", "stdin", "prompt"),
    [
        (("--field", "text=a {{fox}}"), b"", "Translate into French: a {{fox}}"),
        (("--field", " text =x=1", "--field", "language=Thai", "Now."), b"", "Translate into Thai: x=1\n\nNow."),
        (("--field", "text="), b"piped", "Translate into French: \n\npiped"),
    ],
)
def test_a_prompt_of_ones_own_comes_first(
    localspec: Localspec, given: tuple[str, ...], stdin: bytes, prompt: str
) -> None:
    """Its fields take the values that are given, or their defaults; a value is no template."""
    PROMPTS.write("translate", "Translate into {{language|French}}: {{text}}")
    world = FakeWorld()
    assert localspec("run", *FILES, "--prompt", "translate", *given, world=world, stdin=stdin).code == 0
    assert world.pairs[0].asked[0][0] == (Message(Role.USER, prompt),)


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--prompt", "translate"), 2, "lacks a value for text. Add --field"),
        (("--prompt", "translate", "--field", "txt=a"), 2, "no field 'txt'. Its fields are: language, text."),
        (("--prompt", "translate", "--field", "text"), 2, "--field 'text' has no value. Write --field NAME=VALUE."),
        (("--field", "text=a", "Hello"), 2, "Name that with --prompt."),
        (("--prompt", "translat"), 4, "Did you mean translate?"),
        (("--prompt", "translate", "--field", "text=\udce9"), 3, "not UTF-8"),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_is_refused(
    localspec: Localspec, given: tuple[str, ...], code: int, said: str
) -> None:
    """Before anything is loaded: a sentence that says how to write it."""
    PROMPTS.write("translate", "Translate into {{language|French}}: {{text}}")
    world = FakeWorld()
    done = localspec("run", *FILES, *given, world=world)
    assert (done.code, done.out, world.loads) == (code, "", [])
    assert said in done.err


@pytest.mark.parametrize("option", ["--target", "--draft"])
def test_a_pair_and_a_file_cannot_both_be_named(localspec: Localspec, option: str) -> None:
    done = localspec("run", "--pair", "builtin", option, "a.gguf", "hi")
    assert done.code == 2
    assert f"--pair and {option} name two different things" in done.err


@pytest.mark.parametrize("words", [(), ("",), ("  ", "\n"), ("-",)])
def test_an_empty_prompt_is_refused_before_anything_is_loaded(localspec: Localspec, words: tuple[str, ...]) -> None:
    """Nothing to answer: exit code 3, one sentence, no load."""
    world = FakeWorld()
    done = localspec("run", *FILES, *words, world=world)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("localspec: The prompt is empty. ")
    assert not world.loads


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(("-",), b"\xff\xfe"), (("caf\udce9",), b""), (("--system", "caf\udce9", "hello"), b"")],
)
def test_text_that_is_not_utf8_is_refused(localspec: Localspec, words: tuple[str, ...], stdin: bytes) -> None:
    """Bytes that are no text never reach the model as something else."""
    done = localspec("run", *FILES, *words, stdin=stdin)
    assert (done.code, done.out) == (3, "")
    assert "not UTF-8" in done.err


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelFileError("big.gguf is not a GGUF file.", "Check the path."), 5),
        (PairMismatchError("Token 7 differs.", "Choose another."), 6),
        (CapacityError("The prompt has 900 tokens, but the context holds 8.", "Use --ctx 1412."), 7),
    ],
)
@pytest.mark.parametrize("when", ["load", "reply"])
def test_an_error_is_a_sentence_and_a_code(
    localspec: Localspec, error: ModelFileError, code: int, when: str, as_json: bool
) -> None:
    """Message and hint on standard error, nothing on standard output, the code of its class."""
    world = FakeWorld(load_error=error) if when == "load" else FakeWorld(reply_error=error)
    done = localspec("run", *FILES, *(["--json"] if as_json else []), "hello", world=world)
    assert (done.code, done.out) == (code, "")
    assert done.err == f"localspec: {error.message} {error.hint}\n"
    assert [pair.closed for pair in world.pairs] == ([] if when == "load" else [True])


def test_marks_can_be_plain_characters(localspec: Localspec) -> None:
    """--marks ascii brackets accepted, corrected and bonus tokens; what is inside is the text."""
    plain = localspec("run", *FILES, "hello there").out
    done = localspec("run", *FILES, "--marks", "ascii", "hello there")
    assert "[" in done.out
    assert done.out.translate(str.maketrans("", "", "[]{}<>")) == plain


def test_ansi_marks_only_when_asked_for_in_a_pipe(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets plain text; --marks ansi insists, and NO_COLOR keeps the second cue without the colour."""
    assert "\x1b" not in localspec("run", *FILES, "hello there").out
    assert "\x1b[4;38;5;75m" in localspec("run", *FILES, "--marks", "ansi", "hello there").out
    monkeypatch.setenv("NO_COLOR", "1")
    colourless = localspec("run", *FILES, "--marks", "ansi", "hello there").out
    assert "\x1b[4m" in colourless
    assert "38;5" not in colourless


def test_the_figures_begin_with_why_the_reply_ended_early(localspec: Localspec) -> None:
    """In the words of the chat; nothing is said of one that ended by itself."""
    cut = localspec("run", *FILES, "--max-tokens", "3", "hello there")
    assert cut.err.startswith("ended at max tokens or the end of the context, 3 tokens, ")
    (end,) = (event for event in events_of(localspec("run", *FILES, "--json", "hello there").out) if "reason" in event)
    assert localspec("run", *FILES, "hello there").err.startswith("ended") == (end["reason"] == "length")
