"""Changing one value of a TOML text: that value changes, and not a character besides."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.config.editing import NotSafelyChanged, with_value
from localspec.config.kinds import Value, literal

OWN = """\
# My settings.

[sampling]   # how it talks
top_k = 20 # few
temperature = 0.5
# between

stop = [
  "a ] b", # first
  'c # d',
]
[reply]
system = \"\"\"
A "quoted" # text
\"\"\"  # the end
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_value_changes(newline: str) -> None:
    """Comments, order, empty lines and line breaks stay."""
    text = OWN.replace("\n", newline)
    assert with_value(text, ("sampling", "top_k"), 40) == text.replace("top_k = 20 #", "top_k = 40 #")
    changed = with_value(text, ("reply", "system"), "Be brief.")
    assert changed.startswith(text[: text.index("system")])
    assert changed.endswith(f'system = "Be brief."  # the end{newline}')


def test_a_value_of_many_lines_is_replaced_whole() -> None:
    """An array with comments in it, and brackets in its texts."""
    changed = with_value(OWN, ("sampling", "stop"), ("x",))
    assert changed == OWN[: OWN.index('[\n  "a')] + '["x"]\n' + OWN[OWN.index("[reply]") :]


def test_a_new_value_joins_its_section() -> None:
    """Behind the last value there; a new section comes last."""
    changed = with_value(OWN, ("sampling", "seed"), 3)
    assert changed == OWN.replace("[reply]", "seed = 3\n[reply]")
    assert with_value(OWN, ("screen", "theme"), "dark") == OWN + '\n[screen]\ntheme = "dark"\n'
    assert with_value("", ("screen", "theme"), "dark") == '[screen]\ntheme = "dark"\n'
    assert with_value("[screen]", ("screen", "theme"), "dark") == '[screen]\ntheme = "dark"\n'
    assert with_value("# nothing yet", ("screen", "theme"), "dark") == '# nothing yet\n\n[screen]\ntheme = "dark"\n'


def test_dotted_keys_have_mates_too() -> None:
    """A section written as dotted keys is not opened a second time as a table."""
    changed = with_value("sampling.top_k = 3\n", ("sampling", "seed"), 4)
    assert tomllib.loads(changed) == {"sampling": {"top_k": 3, "seed": 4}}


def test_taking_out_leaves_the_rest() -> None:
    """And taking out what is not there changes nothing."""
    assert with_value(OWN, ("sampling", "temperature"), None) == OWN.replace("temperature = 0.5\n", "")
    assert with_value(OWN, ("sampling", "seed"), None) == OWN


def test_a_table_within_a_table_is_opened_and_closed() -> None:
    """Under a name in quotes where it needs them; with its last value it goes, unless a comment stands in it."""
    path = ("pair", "qwen2.5-7b", "depth")
    changed = with_value(OWN, path, 6)
    assert changed == OWN + '\n[pair."qwen2.5-7b"]\ndepth = 6\n'
    both = with_value(changed, ("pair", "qwen2.5-7b", "spec"), "draft")
    assert both == changed + 'spec = "draft"\n'
    assert with_value(both, path, None) == both.replace("depth = 6\n", "")
    assert with_value(changed, path, None) == OWN
    commented = changed.replace("depth", "# mine\ndepth")
    assert with_value(commented, path, None) == commented.replace("depth = 6\n", "")
    assert with_value("pair.x.depth = 3\n", ("pair", "x", "ctx"), 4) == "pair.x.depth = 3\npair.x.ctx = 4\n"
    assert with_value("[pair]\nx.depth = 3\n", ("pair", "x", "ctx"), 4) == "[pair]\nx.depth = 3\nx.ctx = 4\n"


def test_a_value_in_an_inline_table_is_changed_there() -> None:
    """And joins or leaves it; the table goes with its last value."""
    text = "a = 1\nsampling = { seed = 1 } # few\n"
    assert with_value(text, ("sampling", "seed"), 3) == text.replace("seed = 1", "seed = 3")
    both = with_value(text, ("sampling", "top k"), 4)
    assert both == text.replace("seed = 1", 'seed = 1, "top k" = 4')
    assert with_value(both, ("sampling", "top k"), None) == text
    assert with_value(text, ("sampling", "seed"), None) == "a = 1\n"
    assert with_value(text, ("sampling", "top_k"), None) == text
    within = '[mcp]\nx = { args = ["a"], env = { A = "b" } }\n'
    assert with_value(within, ("mcp", "x", "env", "A"), None) == '[mcp]\nx = { args = ["a"] }\n'


@pytest.mark.parametrize(
    "text",
    [
        "sampling = { seed = 1 }\nsampling.seed = 2\n",
        "sampling = { seed = 1, stop = [\n 'a', # first\n] }\n",
        "[sampling]\nseed = 1\nseed = 2\n",
        "sampling = 3\n",
    ],
)
def test_what_is_not_understood_is_not_changed(text: str) -> None:
    """A key set twice, comments within an inline table, a value in place of a table."""
    with pytest.raises(NotSafelyChanged):
        with_value(text, ("sampling", "seed"), 3)


@pytest.mark.parametrize("mistake", ["what is this", "min_p = nan", "x = { y = [1, { z = -nan }] }"])
def test_mistakes_elsewhere_are_left_where_they_are(mistake: str) -> None:
    """A line that is no TOML, or a number that equals nothing, does not keep another value from being changed."""
    text = f"[sampling]\n{mistake}\ntop_k = 1\n"
    assert with_value(text, ("sampling", "top_k"), 2) == text.replace("top_k = 1", "top_k = 2")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), texts)


@given(value=st.one_of(values, st.lists(texts, max_size=3).map(tuple)), before=texts)
def test_any_value_reads_back(value: Value, before: str) -> None:
    """Whatever stood there and whatever is put there, and the neighbours stay."""
    head, tail = "[reply]\nseed = 1\nsystem = ", " # said\n[screen]\npace = 3\n"
    changed = with_value(f"{head}{literal(before)}{tail}", ("reply", "system"), value)
    assert changed == f"{head}{literal(value)}{tail}"
    assert tomllib.loads(changed)["reply"]["system"] == (list(value) if isinstance(value, tuple) else value)
