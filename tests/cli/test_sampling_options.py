"""How a reply is sampled: every option arrives, the right one wins, and none does nothing in silence."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from localspec.config.presets import PRESETS
from localspec.engine.settings import BANNED, Sampling
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

GRAMMAR = 'root ::= "yes" | "no"'
PAIRS = """
[[pairs]]
id = "own"
title = "Own"
target = {{ file = "{file}" }}
sampling = {{ temperature = 0.3, top_k = 7, min_p = 0.2 }}
"""


def asked(localspec: Localspec, *arguments: str | Path) -> Sampling:
    """How the pair was asked to sample."""
    world = FakeWorld()
    done = localspec("run", *arguments, "hello", world=world)
    assert done.code == 0, done.err
    ((_, options),) = world.pairs[0].asked
    return options.sampling


def test_every_option_arrives(localspec: Localspec) -> None:
    numbers = {
        "--temperature": 0.5,
        "--top-k": 9,
        "--top-p": 0.8,
        "--min-p": 0.1,
        "--typical-p": 0.7,
        "--top-n-sigma": 1.5,
        "--xtc-probability": 0.2,
        "--xtc-threshold": 0.3,
        "--dynatemp-range": 0.4,
        "--dynatemp-exponent": 2,
        "--repeat-last-n": 32,
        "--repeat-penalty": 1.1,
        "--frequency-penalty": 0.6,
        "--presence-penalty": -0.7,
        "--dry-multiplier": 0.9,
        "--dry-base": 2,
        "--dry-allowed-length": 3,
        "--dry-penalty-last-n": 99,
    }
    arguments = [word for name, value in numbers.items() for word in (name, str(value))]
    biases = [word for bias in ("5=ban", "6=-1.5", "7+2") for word in ("--logit-bias", bias)]
    breakers = ("--dry-sequence-breaker", r"\n", "--dry-sequence-breaker", "x")
    grammar = ("--grammar", GRAMMAR, "--grammar-trigger", "a", "--grammar-trigger", "(b)")
    assert asked(localspec, *FILES, *arguments, *biases, *breakers, *grammar) == Sampling(
        temperature=0.5,
        top_k=9,
        top_p=0.8,
        min_p=0.1,
        typical_p=0.7,
        top_n_sigma=1.5,
        xtc_probability=0.2,
        xtc_threshold=0.3,
        dynatemp_range=0.4,
        dynatemp_exponent=2.0,
        repeat_last_n=32,
        repeat_penalty=1.1,
        frequency_penalty=0.6,
        presence_penalty=-0.7,
        dry_multiplier=0.9,
        dry_base=2.0,
        dry_allowed_length=3,
        dry_penalty_last_n=99,
        dry_sequence_breakers=("\n", "x"),
        logit_bias=((5, BANNED), (6, -1.5), (7, 2.0)),
        grammar=GRAMMAR,
        grammar_triggers=("a", "(b)"),
    )


def test_mirostat_arrives(localspec: Localspec) -> None:
    given = ("--mirostat", "2", "--mirostat-ent", "3", "--mirostat-lr", "0.2", "--temperature", "0.9")
    expected = Sampling(temperature=0.9, mirostat=2, mirostat_tau=3.0, mirostat_eta=0.2)
    assert asked(localspec, *FILES, *given) == expected


def test_no_breakers(localspec: Localspec) -> None:
    given = ("--dry-multiplier", "1", "--dry-sequence-breaker", "none")
    assert asked(localspec, *FILES, *given).dry_sequence_breakers == ()


@pytest.fixture
def own_pair(own_home: Path, tmp_path: Path) -> tuple[str, str]:
    """A pair whose makers recommend something."""
    model = tmp_path / "own.gguf"
    model.write_bytes(b"")
    config = own_home / "localspec" / "config"
    config.mkdir(parents=True)
    (config / "pairs.toml").write_text(PAIRS.format(file=model))
    return "--pair", "own"


def test_an_option_wins_over_the_preset_and_that_over_the_pair(localspec: Localspec, own_pair: tuple[str, str]) -> None:
    assert asked(localspec, *own_pair) == Sampling(temperature=0.3, top_k=7, min_p=0.2)
    precise = PRESETS["precise"]
    assert asked(localspec, *own_pair, "--preset", "precise", "--top-k", "3") == Sampling(
        precise.temperature, 3, precise.top_p, precise.min_p
    )
    assert asked(localspec, *own_pair, "--top-k", "40").top_k == 40


def test_mirostat_takes_the_place_of_what_the_pair_recommends(localspec: Localspec, own_pair: tuple[str, str]) -> None:
    assert asked(localspec, *own_pair, "--mirostat", "2") == Sampling(temperature=0.3, mirostat=2)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_makes_sense(localspec: Localspec, preset: str) -> None:
    sampling = asked(localspec, *FILES, "--preset", preset)
    sampling.check()
    assert sampling.temperature == PRESETS[preset].temperature


def test_a_schema_becomes_a_grammar(localspec: Localspec, tmp_path: Path) -> None:
    """From the command line or from a file, with or without the mark that some editors put first."""
    schema = json.dumps({"enum": ["yes", "no"]})
    file = tmp_path / "schema.json"
    file.write_text("\ufeff" + schema, encoding="utf-8")
    grammar = asked(localspec, *FILES, "--json-schema", schema).grammar
    assert grammar is not None
    assert '"enum":["yes","no"]' in grammar
    assert asked(localspec, *FILES, "--json-schema", f"@{file}").grammar == grammar


def test_the_start_event_says_how(localspec: Localspec) -> None:
    """All of it, in JSON that any reader takes: there is no infinity in it."""
    out = localspec("run", *FILES, "--json", "--logit-bias", "5=ban", "--logit-bias", "6=2", "hello").out

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    options = json.loads(out.splitlines()[0], parse_constant=refuse)["options"]
    assert options["logit_bias"] == {"5": "ban", "6": 2.0}
    assert {field.name for field in fields(Sampling)} <= options.keys()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("--typical-p 0", "--typical-p"),
        ("--xtc-probability 2", "--xtc-probability"),
        ("--xtc-threshold 0.1", "--xtc-probability"),
        ("--repeat-last-n 64", "--repeat-penalty"),
        ("--dry-base 1.75", "--dry-multiplier"),
        ("--dynatemp-exponent 1", "--dynatemp-range"),
        ("--mirostat-tau 5", "--mirostat"),
        ("--mirostat 2 --top-k 40", "--top-k"),
        ("--mirostat 2 --preset precise", "--preset"),
        ("--mirostat 2 --temperature 0", "--temperature"),
        ("--mirostat 4", "--mirostat"),
        ("--preset wild", "--preset"),
        ("--logit-bias x", "ID=BIAS"),
        ("--logit-bias 5=x", "'ban'"),
        ("--logit-bias 5=nan", "--logit-bias"),
        ("--logit-bias 5=1e300", "at most 3e+38"),
        ("--logit-bias 5=1 --logit-bias 5=2", "twice"),
        ("--grammar-trigger x", "--grammar"),
        ("--grammar root", "line 1, column 5"),
        ("--json-schema {", "line 1, column 2"),
        ('--json-schema {"not":{}}', "'not', at #"),
        ("--json-schema {} --grammar root", "--json-schema"),
        ("--dry-multiplier 1 --dry-sequence-breaker none --dry-sequence-breaker x --dry-penalty-last-n 0", "last-n"),
    ],
)
def test_what_makes_no_sense_is_refused(localspec: Localspec, given: str, named: str) -> None:
    """In one sentence that names it, before anything is loaded."""
    world = FakeWorld()
    done = localspec("run", *FILES, *given.split(), "hello", world=world)
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert done.err.count("\n") == 1
    assert not world.loads


def test_a_file_where_its_text_belongs(localspec: Localspec, tmp_path: Path) -> None:
    """Its name is no grammar; the sentence says how it is read."""
    file = tmp_path / "yes.gbnf"
    file.write_text(GRAMMAR, encoding="utf-8")
    done = localspec("run", *FILES, "--grammar", str(file), "hello")
    assert done.code == 2
    assert f"Write @{file} to read it." in done.err


def test_a_file_that_is_not_there(localspec: Localspec, tmp_path: Path) -> None:
    done = localspec("run", *FILES, "--grammar", f"@{tmp_path / 'none.gbnf'}", "hello")
    assert (done.code, done.out) == (4, "")
    assert "none.gbnf" in done.err


def test_a_file_that_is_not_text(localspec: Localspec, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    done = localspec("run", *FILES, "--grammar", f"@{tmp_path / 'bytes'}", "hello")
    assert (done.code, done.out) == (3, "")


@pytest.mark.parametrize("path", [("--help",), ("chat", "--help"), ("run", "--help")], ids=" ".join)
def test_the_help_has_them_under_a_heading_of_their_own(localspec: Localspec, path: tuple[str, ...]) -> None:
    common, _, sampling = localspec(*path).out.partition("\nSampling:\n")
    assert "--seed" in common
    assert "--temperature" in sampling
    assert "--temperature" not in common
    assert "[PROMPT | -]\n " not in common
