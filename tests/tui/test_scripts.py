"""Texts that are read from the right, wide ones and emoji: stored, shown and copied as they were written."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from localspec.chat.tokens.marking import ReplyFormat
from localspec.store import Store
from tests.tui.support import FakeEngine, chat, make_app, ready, say, transcript_of, views, wait_until

TEXTS = {
    "arabic": ("لماذا السماء زرقاء؟", "لأن الهواء يشتّت الضوء الأزرق أكثر من الأحمر. انظر `x = 1`."),
    "hebrew": ("למה השמיים כחולים?", "כי האוויר מפזר אור כחול יותר מאדום (Rayleigh, 1871)."),
    "chinese": ("天空为什么是蓝色的？", "因为空气对蓝光的散射比红光更强，这叫做瑞利散射。" * 4),
    "emoji": ("👩‍👩‍👧‍👦 family? 🇫🇷", "Yes: 👩🏽‍🚀 and ❤️‍🔥, é as one or é as two."),
}


@pytest.mark.parametrize("script", TEXTS)
@pytest.mark.parametrize("width", [30, 80])
async def test_text_is_what_was_written(store: Store, script: str, width: int) -> None:
    """In the store, in the copy, and on the screen, where no row is wider than its place."""
    question, reply = TEXTS[script]
    engine = FakeEngine()
    async with make_app(engine, store=store).run_test(size=(width, 24)) as pilot:
        await ready(pilot, engine)
        await say(pilot, engine, question, reply)
        (turn,) = views(pilot)
        for markdown in (False, True):
            transcript_of(pilot).show(ReplyFormat(markdown=markdown))
            await wait_until(pilot, lambda: turn.reply.tokens.display is not markdown)  # noqa: B023 - awaited here
            rows = [strip.text for strip in chat(pilot)._compositor.render_strips()]
            assert all(cell_len(row) == width for row in rows)
            shown = "".join("".join(rows).split())
            assert "".join(question.split()) in shown
            if not markdown:
                assert "".join(reply.split()) in shown
        await pilot.press("alt+up", "y", "y")
        assert pilot.app.clipboard == reply
    (summary,) = store.conversations()
    assert [node.content for node in store.open_conversation(summary.heading.id).path] == [question, reply]
