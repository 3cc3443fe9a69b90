"""Train the draft to give the target's own probabilities, which is exactly what speculative decoding rewards."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from corpus import HEARD, Batch, Corpus
from export import stored, stored_tokenizer
from network import Network, Shape
from replies import answered
from tokenizer import VOCABULARY, encode_all
from torch import Tensor
from train import Schedule, arguments, prepare, train

REPLIES_COUNT = 2
"""How often the target's own replies are in the text: they are few."""
DRAFT = Shape(vocab=VOCABULARY, width=128, layers=2, heads=2, ffn=352)


def divergence(guess: Tensor, truth: Tensor) -> Tensor:
    """Kullback-Leibler, of rows of logits from the target's."""
    apart = F.kl_div(
        F.log_softmax(guess.float(), -1), F.log_softmax(truth.float(), -1), reduction="none", log_target=True
    )
    return apart.sum(-1)


def loss_of(draft: Network, target: Network, batch: Batch) -> Tensor:
    """The divergence of the draft's distribution from the target's, over the assistant's tokens."""
    tokens, chat = batch.tokens[:, :-1], batch.chat[:, :-1]
    with torch.no_grad():
        truth = F.linear(target.hidden(tokens, chat), target.embed.weight)
    guess = F.linear(draft.hidden(tokens, chat), draft.embed.weight)
    spoken = batch.weight[:, 1:] > HEARD
    return divergence(guess, truth)[spoken].mean()


def distill(corpus: Corpus, target: Network, draft: Network, schedule: Schedule, out: Path) -> None:
    """Run the schedule; the target is only read."""
    train(corpus, draft, schedule, out, lambda network, batch: loss_of(network, target, batch))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    parser.add_argument(
        "--replies",
        type=Path,
        nargs=2,
        action="append",
        default=[],
        metavar=("REQUESTS", "REPLIES"),
        help="add the target's own replies (replies.py, schemas.py); can be given several times",
    )
    options = parser.parse_args()
    schedule = prepare(options)
    corpus = Corpus.load(options.corpus)
    for batch in options.replies:
        own = Corpus.of(encode_all(stored_tokenizer(options.target), list(answered(*batch))))
        corpus = sum([own] * REPLIES_COUNT, corpus)
    target = stored(options.target).eval().requires_grad_(False)
    draft = stored(options.resume) if options.resume else Network(DRAFT)
    distill(corpus, target, draft, schedule, options.out)


if __name__ == "__main__":
    main()
