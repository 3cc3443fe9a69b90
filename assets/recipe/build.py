"""The one command that makes the built-in pair and its heads: text, tokenizer, target, draft, heads, five GGUF files.

    python assets/recipe/build.py --out DIR
    python assets/recipe/build.py --out DIR --course          # only the short text for weights that know all but what is new
    python assets/recipe/build.py --out DIR --course heads    # only the text for heads that know the usual replies

Each stage leaves its result in DIR and is skipped when the result is there, so an interrupted build goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import islice
from pathlib import Path

import distill
import export
import heads_train
import template
import tokenizer as tokens
import torch
import train
from chats import COURSE, DRILL, HEADS_COURSE, LONG, SHARP, SHORT, VOCABULARY_TEXT, Text, chats, known_replies
from corpus import Corpus
from heads import KINDS, fresh, shape_for
from heads_export import export_head
from heldout import held_out_keys, untouched
from induction import rows_to_repeat
from network import Network, load, quantise
from tokenizers import Tokenizer
from train import Schedule

COPIER = Schedule(steps=500, seed=3, cool_down=0.0)
TARGET = Schedule(steps=6_000, seed=1, cool_down=0.7)
DRAFT = Schedule(steps=1_500, seed=2, cool_down=0.7)
HEADS = Schedule(steps=3_000, budget=4_096, seed=4, cool_down=0.6)
HEAD_FFN = 576
"""Narrower than the target's, so that three heads at four bits take four megabytes."""


def stage(result: Path, make: Callable[[Path], None]) -> Path:
    """Make the result unless it is there; a half-made one never passes for whole."""
    if not result.exists():
        print(f"making {result.name}", flush=True)
        unfinished = result.with_stem("unfinished-" + result.stem)
        make(unfinished)
        unfinished.rename(result)
    return result


def make_tokenizer(path: Path) -> None:
    tokens.train(map(template.render, chats(VOCABULARY_TEXT))).save(str(path))


def encoded(tokenizer: Tokenizer, text: Text) -> Corpus:
    """One text as tokens; where it is meant to be sharp, known replies are cut short."""
    known = known_replies() if text.sharp else frozenset()
    keys = held_out_keys()
    pending, done = (chat for chat in chats(text) if untouched(chat, keys)), []
    while batch := list(islice(pending, 5_000)):
        done += tokens.encode_all(tokenizer, batch, known)
    return Corpus.of(done)


def make_corpus(path: Path, tokenizer: Tokenizer, texts: Sequence[Text] = (SHARP, SHORT, LONG, DRILL)) -> None:
    """The texts as tokens, one after the other."""
    corpus = reduce(Corpus.__add__, (encoded(tokenizer, text) for text in texts))
    corpus.save(path)
    print(
        f"{len(corpus.lengths)} chats, {len(corpus.tokens)} tokens, {int(corpus.spoken.sum())} of them the assistant's",
        flush=True,
    )


def make_copier(path: Path, tokenizer: Tokenizer) -> None:
    torch.manual_seed(COPIER.seed)
    train.train(rows_to_repeat(tokenizer, COPIER.seed), Network(train.TARGET), COPIER, path)


def make_target(path: Path, corpus: Path, copier: Path) -> None:
    torch.manual_seed(TARGET.seed)
    network = load(str(copier))
    quantise(network)
    train.train(Corpus.load(corpus), network, TARGET, path)


def make_draft(path: Path, corpus: Path, target: Path) -> None:
    """The draft, from the target as its file has it."""
    torch.manual_seed(DRAFT.seed)
    distill.distill(Corpus.load(corpus), heads_train.target_from(target), Network(distill.DRAFT), DRAFT, path)


def make_heads(folder: Path, corpus: Path, varied: Path, target: Path) -> None:
    """EAGLE-3, DFlash and MTP for the target as its file has it."""
    torch.manual_seed(HEADS.seed)
    network = heads_train.target_from(target)
    shapes = (shape_for(kind, network.shape, heads_train.MASK, HEAD_FFN) for kind in KINDS)
    folder.mkdir(exist_ok=True)
    text = Corpus.load(corpus) + Corpus.load(varied)
    heads_train.train(text, network, [fresh(shape, network) for shape in shapes], HEADS, folder)


COURSES = {"weights": ("course.npz", COURSE), "heads": ("heads-course.npz", HEADS_COURSE)}
"""The texts of courses, and the names of their files."""


def build(out: Path, course: str | None) -> None:
    """All stages in order; for a course no more than its text."""
    tokenizer = Tokenizer.from_file(str(stage(out / "tokenizer.json", make_tokenizer)))

    def text_of(course: str) -> Path:
        file, texts = COURSES[course]
        return stage(out / file, lambda path: make_corpus(path, tokenizer, texts))

    if course:
        text_of(course)
        return
    corpus = stage(out / "corpus.npz", lambda path: make_corpus(path, tokenizer))
    copier = stage(out / "copier.pt", lambda path: make_copier(path, tokenizer))
    target = stage(out / "target.pt", lambda path: make_target(path, corpus, copier))
    final = stage(out / "builtin-target.gguf", lambda path: export.export(load(str(target)), tokenizer, "target", path))
    draft = stage(out / "draft.pt", lambda path: make_draft(path, corpus, final))
    stage(out / "builtin-draft.gguf", lambda path: export.export(load(str(draft)), tokenizer, "draft", path))
    folder = stage(out / "heads", lambda path: make_heads(path, corpus, text_of("heads"), final))
    for kind in KINDS:
        stage(out / f"builtin-{kind}.gguf", lambda path, kind=kind: export_head(folder / f"{kind}.pt", final, path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--course", nargs="?", const="weights", choices=COURSES)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(2)
    train.use(options.device)
    build(options.out, options.course)


if __name__ == "__main__":
    main()
