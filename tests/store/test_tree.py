"""Laws of the tree of messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.runtime.messages import Role, ToolCall
from localspec.store.tree import Node, ReplyState, Tree, chat_messages

AT = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, parent: str | None = None, content: str | None = None) -> Node:
    """Questions are q..., replies are r... ."""
    role = Role.USER if name.startswith("q") else Role.ASSISTANT
    return Node(name, parent, role, name if content is None else content, AT)


def ids(nodes: object) -> list[str]:
    assert isinstance(nodes, tuple)
    return [each.id for each in nodes]


@pytest.fixture
def tree() -> Tree:
    """q1 with two replies, of which the first goes on; and another version of q1."""
    parents = {"q1": None, "r1": "q1", "q2": "r1", "r2": "q2", "r1b": "q1", "q1b": None, "r3": "q1b"}
    return Tree((node(name, parent) for name, parent in parents.items()), leaf="r2")


def test_versions_are_counted_from_one_in_the_order_they_came(tree: Tree) -> None:
    """What the screen shows as 2/3."""
    assert [tree.position(name) for name in ("q1", "q1b", "r1", "r1b", "q2")] == [
        (1, 2),
        (2, 2),
        (1, 2),
        (2, 2),
        (1, 1),
    ]


def test_choosing_a_version_shows_the_newest_that_followed_it(tree: Tree) -> None:
    """And going back shows what was there."""
    tree.choose("q1b")
    assert ids(tree.path()) == ["q1b", "r3"]
    tree.choose("r1")
    assert ids(tree.path()) == ["q1", "r1", "q2", "r2"]
    tree.choose("q1")
    assert tree.leaf == "r2", "what is on the path already stays"


def test_a_deleted_turn_leaves_what_follows_it(tree: Tree) -> None:
    """In the middle: a question goes with all of its replies, and what followed each of them stays reachable."""
    gone = tree.delete("q1", AT)
    assert ids(gone) == ["q1", "r1", "r1b"]
    assert ids(tree.path()) == ["q2", "r2"]
    assert ids(tree.siblings("q2")) == ["q2", "q1b"]
    tree.restore("r1")
    assert ids(tree.path()) == ["q1", "r1", "q2", "r2"]


def test_deleting_the_last_turn_goes_back_to_the_one_before(tree: Tree) -> None:
    """Whatever is said next follows what is seen, and undoing shows the turn again."""
    tree.delete("r2", AT)
    assert ids(tree.path()) == ["q1", "r1"]
    assert tree.leaf == "r1"
    tree.restore("q2")
    assert tree.leaf == "r2"


def test_deleting_one_of_several_replies_shows_another(tree: Tree) -> None:
    """The question stays."""
    tree.choose("r1b")
    assert ids(tree.delete("r1b", AT)) == ["r1b"]
    assert ids(tree.path()) == ["q1", "r1", "q2", "r2"]


def test_deleting_the_newest_of_several_replies_shows_the_newest_that_is_left(tree: Tree) -> None:
    tree.add(node("r1c", "q1"))
    tree.choose("r1c")
    tree.delete("r1c", AT)
    assert ids(tree.path()) == ["q1", "r1b"]


def test_what_followed_a_deleted_reply_stands_in_its_place_in_its_order(tree: Tree) -> None:
    tree.add(node("q2b", "r1"))
    tree.delete("r1", AT)
    assert ids(tree.children("q1")) == ["q2", "q2b", "r1b"]


@pytest.mark.parametrize("state", [None, *ReplyState])
def test_only_a_whole_summary_is_one(tree: Tree, state: ReplyState | None) -> None:
    """One that is being written, failed or was cut off tells part of what was said."""
    whole = Node("s", "r1", Role.SYSTEM, "In short.", AT, state=state)
    tree.add(whole)
    assert tree.summary() == (whole if state in (None, ReplyState.DONE) else None)


def test_a_result_without_the_reply_that_called_is_not_told() -> None:
    """Templates refuse one."""
    result = Node("t", None, Role.TOOL, "7", AT, call=ToolCall("c1", "add", "{}"))
    assert chat_messages(None, [result]) == []
    assert [each.role for each in chat_messages("Be brief.", [node("q"), result])] == [Role.SYSTEM, Role.USER]


def test_undoing_brings_back_only_what_went_together(tree: Tree) -> None:
    """Two deletions are undone one by one."""
    tree.delete("r3", AT)
    tree.delete("q2", AT + timedelta(microseconds=1))
    tree.restore("q2")
    assert {each.id for each in tree.nodes if each.deleted} == {"q1b", "r3"}


@pytest.mark.parametrize("wrong", [node("q1"), node("r9", "nowhere")])
def test_what_makes_no_tree_is_refused(tree: Tree, wrong: Node) -> None:
    """An id that is there, a parent that is not."""
    with pytest.raises(ValueError, match=r"twice|before"):
        tree.add(wrong)


STEPS = st.lists(
    st.tuples(st.sampled_from(("ask", "reply", "again", "edit", "choose", "delete", "undo")), st.integers(0, 99))
)


@given(STEPS)
def test_no_deed_loses_a_message(steps: list[tuple[str, int]]) -> None:
    """Whatever is done, every message stays, those not deleted can be chosen, and the path is a way down the tree."""
    tree, deletions = Tree(), 0
    for action, number in steps:
        nodes = [each for each in tree.nodes if each.deleted is None]
        chosen = nodes[number % len(nodes)] if nodes else None
        before = len(tree)
        new = f"{'q' if action in ('ask', 'edit') else 'r'}{before}"
        if action in ("ask", "reply"):
            tree.add(node(new, tree.path()[-1].id if tree.path() else None))
            tree.go_to(new)
        elif chosen is None:
            continue
        elif action in ("again", "edit"):
            tree.add(node(new, tree.parent(chosen.id)))
            tree.go_to(new)
        elif action == "choose":
            tree.choose(chosen.id)
        elif action == "delete":
            deletions += 1
            tree.delete(chosen.id, AT + timedelta(seconds=deletions))
        elif gone := [each for each in tree.nodes if each.deleted is not None]:
            tree.restore(gone[number % len(gone)].id)
        assert len(tree) >= before
        path = tree.path()
        assert all(each.deleted is None for each in path)
        assert [tree.parent(each.id) for each in path] == [None, *ids(path)][: len(path)]
        for each in tree.nodes:
            if each.deleted is None:
                place, of = tree.position(each.id)
                assert 1 <= place <= of
                assert each in tree.path(tree.newest_leaf(each.id))


def test_a_model_is_asked_what_was_answered_and_the_last_question() -> None:
    """A question whose reply broke off before any text is passed over."""
    path = [node("q1"), node("r1"), node("q2"), node("r2", content=""), node("q3")]
    said = [(message.role, message.content) for message in chat_messages("be brief", path)]
    assert said == [("system", "be brief"), ("user", "q1"), ("assistant", "r1"), ("user", "q3")]
    assert [message.content for message in chat_messages(None, path[:4])] == ["q1", "r1", "q2"]


def test_a_summary_stands_under_what_it_stands_for_and_nothing_under_it(tree: Tree) -> None:
    summary = Node("s1", "r1", Role.SYSTEM, "In short.", AT)
    tree.add(summary)
    assert ids(tree.children("r1")) == ["q2"]
    assert tree.summary() == summary
    assert tree.summary("q1b") is None
    with pytest.raises(ValueError, match="follows a summary"):
        tree.add(node("q3", "s1"))
    with pytest.raises(ValueError, match="has no messages above it"):
        tree.add(Node("s2", None, Role.SYSTEM, "In short.", AT))
    tree.go_to("s1")
    assert tree.leaf == "r1"
    assert Tree(tree.nodes, "s1").leaf == "r1"
