"""Laws of the names of configurations: each says what runs, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.engine.case import Pair
from tests.benchmarks.engine.commands import full_name
from tests.benchmarks.engine.server import SPEC_TYPES, default_servers, parse_server


@pytest.mark.parametrize("drafter", SPEC_TYPES)
def test_every_usual_server_is_parsed_from_its_name(drafter: str) -> None:
    for name in default_servers(drafter):
        assert parse_server(name).name == name


@pytest.mark.parametrize("drafter", SPEC_TYPES)
def test_the_grid_of_a_kind_has_its_spec_type(drafter: str) -> None:
    deep = [parse_server(name) for name in default_servers(drafter)[1:-1]]
    assert {config.spec for config in deep} == {SPEC_TYPES[drafter]}
    assert {config.n_max for config in deep} == {1, 2, 3, 4, 7, 15}
    assert {config.p_min for config in deep} == {0.0, 0.5, 0.75}


def test_a_head_is_named_to_the_server_and_layers_of_the_target_are_not() -> None:
    beside = Pair(Path("t.gguf"), Path("head.gguf"), 512, 2, 2, "eagle3")
    within = Pair(Path("t.gguf"), None, 512, 2, 2, "mtp")
    assert "head.gguf" in parse_server("server:eagle3:3").options(beside)
    options = parse_server("server:mtp:3:0.5").options(within)
    assert "-md" not in options
    assert options[options.index("--spec-type") + 1] == "draft-mtp"
    assert options[options.index("--spec-draft-p-min") + 1] == "0.5"


def test_a_depth_of_another_kind_than_that_of_the_files_is_refused() -> None:
    """llama-server would draft nothing, or take a head for a draft model, and look slow."""
    assert full_name("server:dflash:7:0.5", "dflash") == "server:dflash:7:0.5"
    assert full_name("server:plain", "mtp") == "server:plain"
    with pytest.raises(SystemExit, match="as in server:mtp:3"):
        full_name("server:3", "mtp")


def test_a_kind_that_has_no_depth_is_refused_one() -> None:
    with pytest.raises(SystemExit, match="kinds with a depth"):
        parse_server("server:ngram-simple:3")
