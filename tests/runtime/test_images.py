"""Images in conversations: from a reference in a message to a place in the prompt, and replies behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localspec.base.errors import InputError, NotFoundError
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.events import Origin, Token
from localspec.engine.settings import Sampling
from localspec.gguf import read_header
from localspec.runtime.images import ImageReference, image_block, keep_image
from localspec.runtime.loaded_pair import LoadedPair
from localspec.runtime.messages import Message, ReplyOptions, Role, Tool, ToolCall
from localspec.runtime.options import LoadOptions
from localspec.runtime.prompt_images import MOST_KEPT, PromptImages
from localspec.runtime.prompting import Prompter
from tests.builtin import DRAFT, TARGET
from tests.runtime.opened_pairs import follow, open_unmeasured
from tests.tiny_models import Weights
from tests.tiny_projectors import write_png, write_projector

GREEDY = Sampling(temperature=0)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("LOCALSPEC_HOME", str(folder))
    return folder


def kept(folder: Path, seed: int = 0) -> ImageReference:
    return keep_image(write_png(folder / f"{seed}.png", seed=seed).read_bytes())


def user(text: str) -> Message:
    return Message(Role.USER, text)


@dataclass
class Reader:
    """Gives each image three places of its own, between two tokens."""

    seen: list[bytes] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)

    def tokens(self, image: bytes) -> list[int]:
        self.seen.append(image)
        first = -10 * len(self.seen)
        return [5, first, first - 1, first - 2, 6]

    def forget(self, tokens: Sequence[int]) -> None:
        self.forgotten.append(min(tokens))


def test_images_stand_where_their_references_do(home: Path, vocab: LlamaVocab) -> None:
    reader = Reader()
    prompter = Prompter(vocab, 512, images=PromptImages(reader))
    blocks = [image_block(f"{seed}.png", kept(home, seed)) for seed in range(2)]
    first = user(f"{blocks[0]}{blocks[1]}Which one?")
    tokens = prompter.chat([first]).tokens
    assert [token for token in tokens if token < 0] == [-10, -11, -12, -20, -21, -22]
    assert tokens[-1] >= 0
    text = b"".join(vocab.source(token) for token in tokens if token >= 0).decode()
    assert "File: 0.png" in text
    assert "sha256" not in text
    reply = vocab.tokenize("The first one.", special=False)
    prompter.remember([*tokens, *reply])
    follow_up = [first, Message(Role.ASSISTANT, "The first one."), user(f"{blocks[0]}And this?")]
    later = prompter.chat(follow_up).tokens
    assert later[: len(tokens) + len(reply)] == [*tokens, *reply]
    assert [token for token in later if token < 0][6:] == [-10, -11, -12]
    assert len(reader.seen) == 2
    assert prompter.count(blocks[0]) < 20


def test_a_message_cannot_make_an_image_of_a_mark_or_of_an_answer(home: Path, vocab: LlamaVocab) -> None:
    reader, block = Reader(), image_block("0.png", kept(home))
    prompter = Prompter(vocab, 1024, images=PromptImages(reader))
    said = [user("\ufffc0\ufffc"), Message(Role.ASSISTANT, f"\ufffc0\ufffc {block}"), user(f"{block}Go on")]
    tokens = prompter.chat(said).tokens
    assert [token for token in tokens if token < 0] == [-10, -11, -12]


@pytest.mark.parametrize("number", ["3", "9" * 5000], ids=len)
def test_a_mark_that_a_template_makes_up_is_no_image(
    number: str, vocab: LlamaVocab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocab, "chat_template", "{{ messages[0].content }}\ufffc" + number + "\ufffc")
    assert min(Prompter(vocab, 32_768, images=PromptImages(Reader())).chat([user("Hello")]).tokens) >= 0


def test_a_system_prompt_shows_no_images(home: Path, vocab: LlamaVocab) -> None:
    """A text there that looks like the block of one stays a text."""
    reader = Reader()
    prompter = Prompter(vocab, 1024, images=PromptImages(reader))
    said = [Message(Role.SYSTEM, f"{image_block('0.png', kept(home))}Be brief."), user("Hello")]
    assert min(prompter.chat(said).tokens) >= 0
    assert not reader.seen


@pytest.mark.parametrize("template", ["", "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"])
def test_the_image_that_a_tool_returns_stands_in_its_result(
    home: Path, template: str, vocab: LlamaVocab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the template knows tools or not; without a projector it stays a text."""
    call = ToolCall("c1", "draw", "{}")
    result = Message(Role.TOOL, f"{image_block('0.png', kept(home))}Drawn.", call_id="c1", name="draw")
    said = [user("Draw a cat."), Message(Role.ASSISTANT, "", (call,)), result]
    tools = (Tool("draw", "Draw.", "{}"),)
    if template:
        monkeypatch.setattr(vocab, "chat_template", template)
    prompter = Prompter(vocab, 1024, images=PromptImages(Reader()))
    tokens = prompter.chat(said, tools=tools).tokens
    assert [token for token in tokens if token < 0] == [-10, -11, -12]
    assert min(Prompter(vocab, 1024).chat(said, tools=tools).tokens) >= 0


def test_an_image_in_a_result_that_is_cut_is_a_word(home: Path, vocab: LlamaVocab) -> None:
    call = ToolCall("c1", "draw", "{}")
    drawn = image_block("0.png", kept(home)) + "Drawn. " * 500
    result = Message(Role.TOOL, drawn, call_id="c1", name="draw")
    said = [user("Draw a cat."), Message(Role.ASSISTANT, "", (call,)), result]
    prompt = Prompter(vocab, 512, images=PromptImages(Reader())).chat(said)
    text = b"".join(map(vocab.source, prompt.tokens)).decode()
    assert prompt.cut_n == 1
    assert "File: 0.png\n[image]\nDrawn." in text


def test_without_a_projector_an_image_is_refused_and_an_old_one_is_a_text(home: Path, vocab: LlamaVocab) -> None:
    block = image_block("cat.png", kept(home))
    prompter = Prompter(vocab, 1024)
    with pytest.raises(InputError, match=r"cannot see cat\.png: no projector is loaded"):
        prompter.chat([user(f"{block}What is this?")])
    later = prompter.chat([user(f"{block}What is this?"), Message(Role.ASSISTANT, "A cat."), user("Thanks!")])
    assert min(later.tokens) >= 0


def test_an_image_whose_file_is_damaged_is_whole_when_it_is_attached_again(home: Path) -> None:
    reference = kept(home)
    data = reference.read()
    reference.path.write_bytes(data[:-9])
    with pytest.raises(InputError, match="not the image that was attached"):
        reference.read()
    assert kept(home).read() == data


def test_an_image_whose_file_is_gone(home: Path, vocab: LlamaVocab) -> None:
    reference = kept(home)
    reference.path.unlink()
    block = image_block("cat.png", reference)
    prompter = Prompter(vocab, 1024, images=PromptImages(Reader()))
    with pytest.raises(NotFoundError, match="cannot be read"):
        prompter.chat([user(f"{block}What is this?")])
    later = prompter.chat([user(f"{block}What is this?"), Message(Role.ASSISTANT, "A cat."), user("Thanks!")])
    assert min(later.tokens) >= 0


def test_images_of_earlier_conversations_are_let_go(home: Path, vocab: LlamaVocab) -> None:
    """A server reads as many as are asked about; those of a prompt are there, however many they are."""
    reader = Reader()
    prompter = Prompter(vocab, 4096, images=PromptImages(reader))
    blocks = [image_block("x.png", kept(home, seed)) for seed in range(MOST_KEPT + 2)]
    prompter.chat([user(f"{''.join(blocks)}Go on")])
    assert not reader.forgotten
    prompter.chat([user(f"{blocks[0]}Go on")])
    assert reader.forgotten == [-12, -22]
    tokens = prompter.chat([user(f"{blocks[0]}Go on")]).tokens
    assert min(tokens) == -10 * len(reader.seen) - 2
    assert len(reader.seen) == len(blocks) + 1


def _softer(name: str, values: Weights) -> None:
    if name == "mm.2.weight":
        values *= 0.02


@pytest.fixture
def pair(home: Path) -> Iterator[LoadedPair]:
    width = read_header(TARGET).integer("llama.embedding_length")
    assert width
    projector = write_projector(home / "mmproj.gguf", width=width, spoil=_softer)
    options = LoadOptions(TARGET, DRAFT, projector, n_ctx=1024, threads=1)
    pair = open_unmeasured(options)
    assert isinstance(pair, LoadedPair)
    assert pair.info.projector == projector
    with closing(pair):
        yield pair


def reply(pair: LoadedPair, said: list[Message], spec: tuple[str, ...] | None, n: int = 40) -> list[Token]:
    options = ReplyOptions(sampling=GREEDY, spec=spec, depth=None if spec == () else 4, max_tokens=n)
    return follow(pair, said, options).tokens


def test_replies_of_the_built_in_pair_to_an_image(home: Path, pair: LoadedPair) -> None:
    said = [user(f"{image_block('cat.png', kept(home))}Tell me a story about a fox.")]
    accepted_n = 0
    for number in range(3):
        plain, drafted = reply(pair, said, ()), reply(pair, said, None)
        assert [token.id for token in drafted] == [token.id for token in plain]
        accepted_n += sum(token.origin is Origin.ACCEPTED for token in drafted)
        text = "".join(token.text for token in drafted)
        said += [Message(Role.ASSISTANT, text), user(f"And of number {number}?")]
    assert accepted_n > 10
    tokens = reply(pair, said, None)
    for seed in range(1, MOST_KEPT + 3):  # other conversations, until this image is let go
        pair.count_tokens(image_block("other.png", kept(home, seed)))
    reply(pair, [user("Hello!")], ())
    seen = pair.inspector.inspect(said, ReplyOptions(sampling=GREEDY, max_tokens=40), [t.id for t in tokens], 0)
    assert seen.target.top[0].id == tokens[0].id
    assert seen.exact_context
