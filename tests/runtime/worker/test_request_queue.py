"""A Cancel ends everything sent before it, and nothing sent after."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.runtime.worker.messages import Cancel, CountTokens, Tokenize
from localspec.runtime.worker.request_queue import RequestQueue

steps = st.lists(st.sampled_from(["work", "cancel", "take"]), max_size=30)


@settings(deadline=None)
@given(steps)
def test_work_is_cancelled_exactly_if_a_cancel_was_sent_after_it(script: list[str]) -> None:
    """Whatever the order of sending and taking, the cancellation is about the work taken last."""
    inbox = RequestQueue()
    cancelled: list[bool] = []  # by order of sending
    taken_n = 0
    for step in script:
        match step:
            case "work":
                inbox.put(CountTokens(""))
                cancelled.append(False)
            case "cancel":
                inbox.put(Cancel())
                cancelled = [True] * len(cancelled)
            case "take" if taken_n < len(cancelled):
                assert inbox.take() == CountTokens("")
                taken_n += 1
        if taken_n:
            assert inbox.cancellation.is_set() == cancelled[taken_n - 1]


def test_nothing_is_cancelled_when_a_cancel_comes_too_late() -> None:
    """Replies under way beside it share its evaluations, and would be stopped."""
    inbox = RequestQueue()
    inbox.put(Tokenize(1, ""))
    inbox.take()
    inbox.done()
    inbox.put(Cancel(1))
    assert not inbox.cancellation.is_set()


def test_a_cancel_is_over_with_the_work_that_it_was_about() -> None:
    """But work that waited, and was cancelled too, has yet to be taken."""
    inbox = RequestQueue()
    inbox.put(Tokenize(1, ""))
    inbox.put(Tokenize(2, ""))
    inbox.take()
    inbox.put(Cancel(1))
    assert inbox.cancellation.is_set()
    inbox.done()
    assert not inbox.cancellation.is_set()
    inbox.put(Cancel())
    inbox.done()
    inbox.take()
    assert inbox.cancellation.is_set()


@pytest.mark.parametrize("cancel", [Cancel(), Cancel(1)])
def test_a_reply_that_goes_on_beside_others_takes_its_cancel_along(cancel: Cancel) -> None:
    """One that came before it was followed; the others' evaluations go on."""
    inbox = RequestQueue()
    inbox.put(Tokenize(1, ""))
    inbox.take()
    inbox.put(cancel)
    assert inbox.follow(1).is_set()
    inbox.done()
    assert not inbox.cancellation.is_set()


def test_work_under_way_is_abandoned_when_all_of_it_is_cancelled() -> None:
    inbox = RequestQueue()
    inbox.put(CountTokens(""))
    assert inbox.busy_since is None
    inbox.take()
    assert inbox.busy_since is not None
    assert not inbox.abandoned
    inbox.follow(1)
    inbox.follow(2)
    inbox.put(Cancel(1))
    assert not inbox.abandoned
    inbox.put(Cancel(2))
    assert inbox.abandoned


def test_what_was_cancelled_waits_for_no_room() -> None:
    """It is answered at once; what stands behind it waits on."""
    inbox = RequestQueue()
    inbox.put(Tokenize(1, ""))
    inbox.put(Tokenize(2, ""))
    assert inbox.poll(lambda work: False) is None
    inbox.put(Cancel(1))
    assert inbox.poll(lambda work: False) == Tokenize(1, "")
    assert inbox.cancelled
    assert inbox.poll(lambda work: False) is None


def test_closing_ends_the_work_under_way_and_forgets_the_rest() -> None:
    """When nobody asks any more, nothing is begun any more."""
    inbox = RequestQueue()
    inbox.put(CountTokens(""))
    inbox.put(CountTokens(""))
    inbox.take()
    inbox.close()
    assert inbox.cancellation.is_set()
    assert inbox.take() is None
