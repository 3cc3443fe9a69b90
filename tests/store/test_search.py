"""Search finds what was said, whatever is typed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localspec.store import Store, StoredConversation
from localspec.store.search import Query
from tests.store.support import FakeTime, branched, converse, open_store


def found(store: Store, query: str) -> list[str]:
    return [hit.text for hit in store.search(query)]


@pytest.fixture
def thread(store: Store) -> StoredConversation:
    return converse(
        store,
        ("What does Crème brûlée taste of?", "Vanilla, mostly."),
        ("Explain `predicted_n` and C++ to me 🎉", "It counts tokens, doesn't it?"),
        ("日本語の文章を書いて", "東京は日本の首都です。"),
    )


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("vanilla", 1),
        ("VAN", 1),
        ("anilla", 0),
        ("creme brulee", 1),
        ("taste creme", 1),
        ("taste vanilla", 0),
        ('"taste of"', 1),
        ('"of taste"', 0),
        ('"tast"', 0),
        ("predicted_n", 1),
        ("pred", 1),
        ("doesn't", 1),
        ("🎉", 1),
        ("tokens 🎉", 0),
        ("explain 🎉", 1),
        ("日本", 2),
        ("首都", 1),
        ("++", 1),
        ("C++", 1),
        ("C", 3),
        ("C#", 0),
        ("", 0),
        ("   ", 0),
        ('"', 0),
        ("*", 0),
        ("AND", 1),
        ("NOT OR", 0),
        ("nowhere", 0),
    ],
)
def test_words_are_found(store: Store, thread: StoredConversation, query: str, n: int) -> None:
    """Beginnings of words, without case and accents; all of them; phrases; signs and scripts without spaces."""
    assert len(store.search(query)) == n


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = open_store(tmp_path_factory.mktemp("search") / "history.db")
    branched(store)
    converse(store, ("日本語 🎉 \x02\x03", 'say "so" * (NEAR) \x00'))
    return store


@given(query=st.text(max_size=30) | st.lists(st.sampled_from([*"\"*^:()-+{}'", "AND", "NEAR(", "a"])).map(" ".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_is_a_query(shared_store: Store, query: str) -> None:
    """It finds something or nothing, and never fails."""
    for hit in shared_store.search(query):
        assert hit.snippet


def test_a_pasted_text_of_any_length_is_a_query(shared_store: Store) -> None:
    """A word counts once, however often it is there; of signs there are more than SQLite takes in a statement."""
    assert Query.parse("fox 日 " * 5000) == Query.parse("fox 日")
    assert shared_store.search(" ".join(f"c{n}++" for n in range(3000))) == []


def test_a_query_that_is_no_text_finds_nothing(shared_store: Store) -> None:
    """As a terminal gives bytes that are no UTF-8."""
    assert shared_store.search("\udc80") == []
    assert shared_store.search('"say\udc80"') == []


def test_a_hit_leads_to_its_message(store: Store) -> None:
    """Also on a branch that is not shown, and its words are marked."""
    thread = branched(store)
    (hit,) = store.search("scatters light")
    assert [piece for piece, marked in hit.snippet if marked] == ["scatters", "light"]
    assert (hit.conversation, hit.title) == (thread.id, "Why is the sky blue?")
    assert hit.message is not None
    thread.choose(hit.message)
    assert thread.path[-1].id == hit.message


def test_given_titles_are_found_and_made_ones_only_in_the_question(store: Store) -> None:
    """No hit comes twice."""
    thread = converse(store, ("Why is the sky blue?", "Scattering."))
    assert [hit.role for hit in store.search("sky")] == ["user"]
    store.rename(thread.id, "Colours of heaven")
    assert [(hit.role, hit.message) for hit in store.search("heaven")] == [(None, None)]
    store.rename(thread.id, "Something else")
    assert store.search("heaven") == []


def test_deleted_turns_are_not_found_until_they_come_back(store: Store, thread: StoredConversation) -> None:
    """As in the conversation itself."""
    gone = thread.delete(thread.path[0].id)
    assert found(store, "vanilla") == []
    thread.restore(gone[0].id)
    assert found(store, "vanilla") == ["Vanilla, mostly."]


def test_of_equal_hits_the_latest_comes_first_and_better_ones_before_it(store: Store, time: FakeTime) -> None:
    """Rank counts, and time counts; the limit keeps the best."""
    old = converse(store, ("apples", "Yes."))
    best = converse(store, ("pears pears", "Yes."))
    time.looks = iter(range(10**7, 10**8))
    new = converse(store, ("apples", "Yes."))
    converse(store, (f"pears {'and many other words ' * 40}", "Yes."))
    assert [hit.conversation for hit in store.search("apples")] == [new.id, old.id]
    assert [hit.conversation for hit in store.search("pears", limit=1)] == [best.id]
    assert store.search("pears", limit=0) == []


def test_what_was_said_long_ago_comes_later_though_it_was_imported_today(store: Store, tmp_path: Path) -> None:
    """Time is when it was said, not when it was stored."""
    ancient = FakeTime(looks=iter(range(-(10**8), 0)))
    other = open_store(tmp_path / "other.db", ancient, first_id=5000)
    old = other.document(converse(other, ("apples", "Yes.")).id)
    other.close()
    new = converse(store, ("apples", "Yes."))
    store.add([old])
    assert [hit.conversation for hit in store.search("apples")] == [new.id, old.heading.id]


def test_a_filter_costs_no_look_at_every_conversation_for_every_hit() -> None:
    """With twice as many of both, SQLite does about twice as much, not four times."""
    store = Store.in_memory()
    steps_n = [0]

    def count() -> None:
        steps_n[0] += 1

    def cost() -> int:
        """The steps of SQLite, in tens, after 100 more conversations."""
        for _ in range(100):
            converse(store, ("apples", "apples"))
        steps_n[0] = 0
        store._database.connection.set_progress_handler(count, 10)
        assert store.search("is:any apples")
        store._database.connection.set_progress_handler(None, 0)
        return steps_n[0]

    before = cost()
    assert cost() < 3 * before


def test_a_long_message_is_cut_around_the_hit(store: Store) -> None:
    """In full-text search and in plain looking alike."""
    converse(store, (f"{'hay ' * 500}needle 🪡 {'hay ' * 500}", "Yes."))
    for query in ("needle", "🪡"):
        (hit,) = store.search(query)
        assert len(hit.text) < 200
        assert "needle 🪡" in hit.text
        assert hit.at > datetime(2026, 1, 1, tzinfo=UTC)
