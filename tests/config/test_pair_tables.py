"""What the file of settings says of one pair alone: a table by its id, read and written like any other."""

from __future__ import annotations

import pytest

from localspec.config import SETTINGS, config_file, read_config, setting
from localspec.config.file import write_value
from localspec.config.kinds import RefusedValue, Value, ValueKind
from tests.config.support import configure


def test_a_table_by_the_id_of_a_pair() -> None:
    """As a table of its own, dotted, inline; whether there is such a pair does not matter."""
    configure(
        '[pair."qwen2.5-7b"]\ndepth = 6\nspec = ["draft", "suffix"]\n[pair]\ngone.ctx = 512\n'
        'other = { temperature = 0.2, stop = "x" }\nempty = {}\n[speculation]\ndepth = 3\n'
    )
    config = read_config()
    assert not config.problems
    assert config.values == {"speculation.depth": 3}
    assert config.pairs == {
        "qwen2.5-7b": {"speculation.depth": 6, "speculation.spec": "draft,suffix"},
        "gone": {"model.ctx": 512},
        "other": {"sampling.temperature": 0.2, "reply.stop": ("x",)},
    }
    assert config.of_pair("gone") == {"model.ctx": 512}
    assert config.of_pair("nowhere") == {}
    assert config.of_pair(None) is config.values
    assert [config.line(setting("depth"), pair) for pair in ("qwen2.5-7b", "gone", None)] == [2, None, 9]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("threads = 513", "pair.a-pair.threads: it should be a whole number of threads from 1 to 512, not 513"),
        ("dept = 3", "there is no setting pair.a-pair.dept; did you mean pair.a-pair.depth?"),
        ("top_k = 'many'", "pair.a-pair.top_k: it should be a whole number of tokens from 0, not 'many'"),
        ("theme = 'dark'", "pair.a-pair.theme: theme is the same for all pairs; it stands in [screen]"),
        ("pair = 'other'", "pair.a-pair.pair: pair is the same for all pairs; it stands in [model]"),
        ("depth = 4", "pair.a-pair.depth is set a second time; line 2 counts"),
        ("speculation.depth = 4", "there is no section pair.a-pair.speculation; what is set for a pair stands in "),
        ("persona = 'nobody'", "pair.a-pair.persona: there is no persona 'nobody'"),
        ("nonsense", "this is no TOML: "),
        ("[pair.a-pair.speculation]", "there is no section pair.a-pair.speculation; "),
        (
            "[pair.qwen2.5-7b]",
            'there is no section pair.qwen2.5-7b; an id with a dot in it stands in quotes: [pair."qw',
        ),
    ],
    ids=lambda value: value[:24],
)
def test_a_mistake_costs_one_line(line: str, what: str) -> None:
    """Told with its number; what stands before and after holds, and a table that is none is told once."""
    below = "threads = 2\n" if line.startswith("[") else ""
    configure(f"[pair.a-pair]\ndepth = 6\n{line}\n{below}[model]\nctx = 512\n")
    config = read_config()
    ((number, said),) = [(problem.line, problem.what) for problem in config.problems]
    assert number == 3
    assert said.startswith(what)
    assert (config.values, config.pairs) == ({"model.ctx": 512}, {"a-pair": {"speculation.depth": 6}})


def test_a_pair_is_a_table() -> None:
    configure("[pair]\nbuiltin = 3\n")
    assert [problem.what for problem in read_config().problems] == ["pair.builtin: it should be a table of settings"]


def test_what_is_written_for_a_pair_is_read_for_it() -> None:
    """And goes without a trace; what is set for all stays."""
    before = "# mine\n[speculation]\ndepth = 3 # few\n"
    configure(before)
    config = write_value(setting("depth"), 6, "qwen2.5-7b")
    assert config_file().read_text() == f'{before}\n[pair."qwen2.5-7b"]\ndepth = 6\n'
    assert (config.values, config.pairs) == ({"speculation.depth": 3}, {"qwen2.5-7b": {"speculation.depth": 6}})
    assert write_value(setting("depth"), None, "qwen2.5-7b").pairs == {}
    assert config_file().read_text() == before


@pytest.mark.parametrize("pair", ["builtin", "qwen2.5-7b", 'odd "id"', "ünï", "a\\b"])
def test_any_setting_of_any_pair_reads_back(pair: str) -> None:
    """Whatever the id is made of."""
    for each in SETTINGS:
        if each.per_pair:
            value = _some(each.kind)
            assert write_value(each, value, pair).of_pair(pair)[each.name] == value
    assert not read_config().problems


def _some(kind: ValueKind) -> Value:
    """A value of the kind."""
    for value in (True, "none", "off", "host:80", ("1=ban",), 1, 0.5, *getattr(kind, "words", ())):
        try:
            return kind.check(value)
        except RefusedValue:
            continue
    raise AssertionError(kind)
