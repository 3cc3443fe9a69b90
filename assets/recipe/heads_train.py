"""Train heads on the target's hidden states to give the target's own probabilities.

    python heads_train.py CORPUS.npz OUT --target TARGET.gguf|TARGET.pt [--kinds eagle3 dflash mtp] [--resume FOLDER]

EAGLE-3 and MTP are trained on their own hidden states too, some steps deep (EAGLE-3's training-time test), DFlash on blocks that begin at random
places and are cut at a random length. All kinds learn from the same batches, for the target's part is the most of the work.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import heads
import torch
import torch.nn.functional as F
from corpus import HEARD, Batch, Corpus
from distill import divergence
from export import stored
from heads import KINDS, Chain, DFlash, Head
from heads_export import stored_head
from network import Network, half_precision, save
from optimiser import Optimiser
from tokenizer import SPECIAL, SYSTEM
from torch import Tensor
from train import Schedule, arguments, fraction, prepare

STEPS = 6
SHARE = 4
"""One row in so many is followed beyond its first step."""
LATER = 0.85
"""The weight of a place in the loss, of the weight of the place before it."""
SHORTEST = 4
MASK = SPECIAL.index(SYSTEM)
"""A token that no reply has."""


def chain_loss(head: Chain, target: Network, batch: Batch, states: Tensor, truth: Tensor) -> Tensor:
    """Row i pairs token i with the state before it and guesses token i + 1; each step is one token further.

    The first token of a chat has no state before it: MTP reads zeros there, EAGLE-3 leaves the pair out.
    """
    tokens, chat = batch.tokens, batch.chat
    rows = tokens.shape[1] - STEPS
    first = F.pad(chat[:, 1:rows] != chat[:, : rows - 1], (1, 0), value=True)
    unseen = torch.full((rows, rows), float("-inf")).triu(1)
    mask = unseen.where(chat[:, :rows, None] == chat[:, None, :rows], float("-inf"))
    if head.shape.target_layers:
        mask = mask.where(~first[:, None] | torch.eye(rows, dtype=torch.bool), float("-inf"))
    counts = (batch.weight[:, 1 : 1 + rows] > HEARD) & (chat[:, 1 : 1 + rows] == chat[:, :rows]) & ~first
    chosen = (torch.rand(counts.shape) + counts).topk(rows // SHARE, -1).indices
    hidden = head.encode(F.pad(states[:, : rows - 1], (0, 0, 1, 0)).masked_fill(first[:, :, None], 0.0))
    at = [torch.arange(rows).expand_as(counts), *(chosen + step for step in range(1, STEPS))]
    embedded = [target.embed(tokens.gather(1, place)) for place in at]
    loss, whole = torch.zeros(()), sum(LATER**step for step in range(STEPS))
    for step, state in enumerate(head(hidden, embedded, mask, chosen)):
        said = at[step] + 1
        of_row = counts.gather(1, at[step] - step)
        alive = (
            of_row & (batch.weight.gather(1, said) > HEARD) & (chat.gather(1, said) == chat.gather(1, said - 1 - step))
        )
        wanted = truth if step == 0 else truth.gather(1, at[step][:, :, None].expand(-1, -1, truth.shape[-1]))
        apart = divergence(F.linear(state, target.embed.weight), wanted[:, : state.shape[1]])
        loss = loss + LATER**step / whole * (apart * alive).sum() / alive.sum().clamp(min=1)
    return loss


def block_loss(head: DFlash, target: Network, batch: Batch, states: Tensor, truth: Tensor) -> Tensor:
    """Blocks that begin at random places of the replies; place j of a block guesses the token j behind its start."""
    tokens, chat, places = batch.tokens, batch.chat, head.shape.block
    length = tokens.shape[1]
    spoken = (batch.weight > HEARD)[:, 1 : length - places + 1]
    starts = (torch.rand(spoken.shape) + spoken).topk(length // places, -1).indices
    whole = starts[:, :, None] + torch.arange(places)
    at = whole.flatten(1)
    past = torch.arange(length) < starts[:, :, None]
    alike = chat[:, None, :] == chat.gather(1, starts)[:, :, None]
    sees = torch.zeros(()).where(past & alike, float("-inf")).repeat_interleave(places, 1)[:, None]
    inside = torch.zeros(()).where(torch.arange(places) < torch.randint(SHORTEST, places + 1, ()), float("-inf"))
    block = torch.full_like(whole, head.shape.mask)
    block[:, :, 0] = tokens.gather(1, starts)
    last = head(states, target.embed(block), starts, sees, inside)
    of_chat = chat.gather(1, at).view(whole.shape) == chat.gather(1, starts)[:, :, None]
    alive = (batch.weight.gather(1, at).view(whole.shape) > HEARD) & of_chat & (inside == 0)
    wanted = truth.gather(1, (at - 1).clamp(min=0)[:, :, None].expand(-1, -1, truth.shape[-1]))
    apart = divergence(F.linear(last, target.embed.weight), wanted.view(*whole.shape, -1))
    weight = (alive * LATER ** torch.arange(places))[:, :, 1:]
    return (apart[:, :, 1:] * weight).sum() / weight.sum().clamp(min=1e-6)


LOSSES: dict[str, Callable[[Head, Network, Batch, Tensor, Tensor], Tensor]] = {
    "eagle3": chain_loss,
    "mtp": chain_loss,
    "dflash": block_loss,
}


def target_from(path: Path) -> Network:
    """A target to be read only. Of a GGUF file the quantized weights are the ones learned from."""
    return stored(path).eval().requires_grad_(False)


def observed(target: Network, batch: Batch) -> tuple[list[Tensor], Tensor, Tensor]:
    """The target's stream layer by layer, its normalised last state, and its logits."""
    with torch.no_grad(), half_precision():
        stream = target.stream(batch.tokens, batch.chat)
        last = target.norm(stream[-1])
        return stream, last, F.linear(last, target.embed.weight)


def train(corpus: Corpus, target: Network, learners: list[Head], schedule: Schedule, out: Path) -> None:
    """Run the schedule for all heads, with checkpoints now and then."""
    optimisers, batches = [Optimiser(head) for head in learners], corpus.batches(schedule.budget, schedule.seed)
    means, step, seen, start = [torch.zeros(()) for _ in learners], 0, 0, time.time()
    while (progress := schedule.progress(step, start)) < 1:
        batch = next(batches)
        stream, last, truth = observed(target, batch)
        for n, (head, optimiser) in enumerate(zip(learners, optimisers, strict=True)):
            with half_precision():
                loss = LOSSES[head.shape.kind](head, target, batch, head.read(stream, last), truth)
            loss.backward()
            optimiser.step(schedule.peak * fraction(step, progress, schedule.cool_down))
            means[n] = loss.detach() if step == 0 else means[n].lerp(loss.detach(), 0.02)
        step, seen = step + 1, seen + batch.tokens.numel()
        if step % 50 == 0:
            report = " ".join(
                f"{head.shape.kind} {mean.item():.3f}" for head, mean in zip(learners, means, strict=True)
            )
            print(f"step {step} ({progress:.0%}) {report} per second {seen / (time.time() - start):.0f}", flush=True)
            _save(learners, out)
    _save(learners, out)


def _save(learners: list[Head], out: Path) -> None:
    for head in learners:
        save(head, str(out / f"{head.shape.kind}.pt"))


def options() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--resume", type=Path, help="a folder with checkpoints of heads, or with their files")
    parser.add_argument("--ffn", type=int, default=0, help="as wide as the target's where it is not given")
    return parser.parse_args()


def main() -> None:
    given = options()
    schedule = prepare(given)
    target = target_from(given.target)
    learners = [
        stored_head(given.resume, kind)
        if given.resume
        else heads.fresh(heads.shape_for(kind, target.shape, MASK, given.ffn), target)
        for kind in given.kinds
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    train(Corpus.load(given.corpus), target, learners, schedule, given.out)


if __name__ == "__main__":
    main()
