"""The layers of settings: each is the default of its option, and gives way to one that is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localspec.cli.options import overrides
from localspec.cli.run import run
from localspec.config import Value, config_file, read_config
from localspec.engine.settings import BANNED
from localspec.runtime.chat_config import ChatConfig, Layer
from localspec.runtime.resolver import SettingsResolver
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld
from tests.config.support import add_persona, configure


def layers(*arguments: str) -> SettingsResolver:
    with run.make_context("localspec run", [*arguments, "hello"]) as context:
        return SettingsResolver(overrides(context))


def chat_config(*arguments: str) -> ChatConfig:
    """What a command line makes of the file, with nothing left out."""
    made = layers(*arguments)
    settled = made.resolve(read_config())
    assert not made.problems, made.problems
    return settled


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ("[sampling]\ntemperature = 0.1\ntop_k = 3", ("--temperature", "0.1", "--top-k", "3")),
        ('[sampling]\npreset = "creative"', ("--preset", "creative")),
        ('[sampling]\nlogit_bias = ["3=ban", "4+1.5"]', ("--logit-bias", "3=ban", "--logit-bias", "4+1.5")),
        (
            '[sampling]\ndry_multiplier = 1\ndry_sequence_breakers = ["\\n"]',
            ("--dry-multiplier", "1", "--dry-sequence-breaker", "\\n"),
        ),
        (
            "[sampling]\ndry_multiplier = 1\ndry_sequence_breakers = []",
            ("--dry-multiplier", "1", "--dry-sequence-breaker", "none"),
        ),
        ("""[sampling]\ngrammar = 'root ::= "a"'""", ("--grammar", 'root ::= "a"')),
        ('[speculation]\nspec = "suffix"\ndepth = 5', ("--spec", "suffix", "--depth", "5")),
        ('[speculation]\nspec = "off"', ("--spec", "off")),
        ('[speculation]\nspec = ["draft", "suffix"]\ndepth = "auto"', ("--spec", "draft,suffix", "--depth", "auto")),
        ('[reply]\nsystem = "Be brief."\nstop = "x"', ("--system", "Be brief.", "--stop", "x")),
        ("[reply]\nseed = 3\nmax_tokens = 9", ("--seed", "3", "--max-tokens", "9")),
        ("[model]\nctx = 512\nthreads = 3\nmmap = false", ("--ctx", "512", "--threads", "3", "--no-mmap")),
        ('[model]\ngpu_layers = "auto"\ndevice = "none"', ("--gpu-layers", "auto", "--device", "none")),
        ("[model]\nmlock = true\nrequire_gpu = true", ("--mlock", "--require-gpu")),
        ('[model]\ncache_type_k = "q8_0"\nflash_attn = "on"', ("--cache-type-k", "q8_0", "--flash-attn", "on")),
        ('[model]\npair = "builtin"', ("--pair", "builtin")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_is_the_default_of_its_option(settings: str, options: tuple[str, ...]) -> None:
    """With it in the file, a command comes out as if the option had been given."""
    said, bare = chat_config(*options), chat_config()
    configure(settings)
    assert chat_config() == said
    assert said != bare or settings.endswith(('"builtin"', '"auto"'))


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ("[sampling]\ntemperature = 0.1", ("--temperature", "0.9")),
        ('[speculation]\nspec = "off"\ndepth = 0', ("--spec", "auto", "--depth", "auto")),
        ('[speculation]\nspec = "off"', ("--depth", "3")),
        ("[speculation]\ndepth = 5", ("--spec", "off")),
        ("[sampling]\ntemperature = 0\ntop_k = 1", ("--preset", "creative", "--top-k", "7")),
        ("[sampling]\ntop_k = 5\nmin_p = 0.3", ("--mirostat", "2")),
        ('[sampling]\npreset = "precise"', ("--mirostat", "2")),
        ("[sampling]\nmirostat = 2\nmirostat_tau = 3", ("--top-k", "3")),
        ("""[sampling]\ngrammar = 'root ::= "a"'""", ("--json-schema", "{}")),
        ('[reply]\nstop = ["x", "y"]', ("--stop", "z")),
        ('[reply]\nsystem = "Be brief."', ("--system", "")),
        ('[model]\npair = "nowhere"\ndraft_threads = 2', ("--target", "big.gguf")),
        ('[speculation]\nspec = "draft"', ("--target", "big.gguf")),
        ('[model]\npair = "nowhere"', FILES),
        ("[model]\nmlock = true\nmmap = true", ("--no-mlock", "--no-mmap")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_command_line_beats_the_file(settings: str, options: tuple[str, ...]) -> None:
    """What it says comes out as without the file, also where the file says something that cannot stand beside it."""
    without = chat_config(*options)
    configure(settings)
    assert chat_config(*options) == without


def test_a_conversation_stands_between() -> None:
    """Above the file, below the command line."""
    configure("[sampling]\ntemperature = 0.1\nmin_p = 0.2\n[reply]\nseed = 1\n")
    made = layers("--seed", "3")
    reply = made.resolve(read_config(), {"sampling.preset": "creative", "reply.seed": 2}).reply
    assert (reply.sampling.temperature, reply.sampling.min_p, reply.seed) == (1.2, 0.05, 3)
    assert not made.problems


PAIRS = """
[speculation]
spec = "draft"
depth = 2
[sampling]
temperature = 0.9
min_p = 0.2
[pair.builtin]
depth = 6
temperature = 0.4
ctx = 512
[pair.other]
depth = 9
ctx = 256
"""


def test_the_table_of_the_pair_stands_between_conversation_and_file() -> None:
    """Above what is set for all, itself above what the pair recommends; another pair's table is nobody's business."""
    recommended = chat_config().reply.sampling
    configure(PAIRS)
    made = layers("--seed", "3", "--ctx", "128")
    settled = made.resolve(read_config(), {"sampling.temperature": 0.1})
    assert not made.problems
    reply = settled.reply
    assert (reply.spec, reply.depth, reply.seed) == (("draft",), 6, 3)
    assert (reply.sampling.temperature, reply.sampling.min_p) == (0.1, 0.2)
    assert reply.sampling.top_p == recommended.top_p != 0.95
    assert settled.load.n_ctx == 128
    assert chat_config().load.n_ctx == 512
    assert chat_config().reply.sampling.temperature == 0.4


def test_what_is_set_for_a_pair_is_not_for_files(tmp_path: Path) -> None:
    """Nor for a pair that is not the one in use."""
    configure(PAIRS)
    assert (chat_config(*FILES).load.n_ctx, chat_config(*FILES).reply.depth) == (None, 2)
    configure('[model]\npair = "other"\n' + PAIRS)
    made = layers()
    assert made.resolve(read_config()).load.n_ctx == 512, "there is no such pair, so it is the built-in one"
    assert [problem.what.partition(":")[0] for problem in made.problems] == ["model.pair"]


@pytest.mark.parametrize(
    ("pair", "general", "expected"),
    [
        ('preset = "creative"', "[sampling]\ntemperature = 0.1\nmin_p = 0.3", ("--preset", "creative")),
        ("mirostat = 2", '[sampling]\npreset = "precise"\ntop_k = 5', ("--mirostat", "2")),
        ('spec = "off"', "[speculation]\ndepth = 5", ("--spec", "off")),
        ("depth = 5", '[speculation]\nspec = "off"', ("--depth", "5")),
        ("depth = 5", '[speculation]\nspec = "suffix"', ("--depth", "5", "--spec", "suffix")),
        ('system = "Be brief."', '[reply]\npersona = "pirate"', ("--system", "Be brief.")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_pair_has_displaces_what_it_would_contradict(pair: str, general: str, expected: tuple[str, ...]) -> None:
    """Of what is set for all, as the command line does; and nothing besides."""
    add_persona("pirate.md", "Talk like a pirate.")
    wanted = chat_config(*expected)
    configure(f"{general}\n[pair.builtin]\n{pair}\n")
    assert chat_config() == wanted


def test_a_depth_leaves_the_drafters_that_are_set() -> None:
    """Only where they are off is there no place for it."""
    configure('[speculation]\nspec = "suffix"\n')
    assert chat_config("--depth", "4").reply.spec == ("suffix",)
    assert "spec" not in layers("--depth", "4").overrides
    configure('[speculation]\nspec = "off"\n')
    made = layers("--depth", "4")
    assert made.resolve(read_config()).reply.spec is None
    assert made.overrides["spec"] == "not used"


def test_who_has_the_say() -> None:
    """Told for the pair that was settled for; nothing of what the command line says, or of what is displaced."""
    configure(PAIRS + '[screen]\ntheme = "dark"\n')
    made = layers("--depth", "4")
    config = read_config()
    made.resolve(config)
    assert made.pair_id == "builtin"
    own: dict[str, Value] = {"sampling.preset": "precise", "reply.seed": 1}
    assert dict(made.layers(config, own)) == {
        "screen.theme": Layer.ALL,
        "speculation.spec": Layer.ALL,
        "model.ctx": Layer.PAIR,
        "sampling.preset": Layer.CONVERSATION,
        "reply.seed": Layer.CONVERSATION,
    }
    layered = made.for_pair("other").layers(config, {})
    assert (layered["model.ctx"], layered["sampling.temperature"]) == (Layer.PAIR, Layer.ALL)


def test_a_mistake_in_the_table_of_a_pair_is_told_with_its_line() -> None:
    """What cannot stand with the rest is left out there, and what is set for all counts again."""
    configure("[sampling]\ndry_multiplier = 1\n[pair.builtin]\ngrammar = 'nonsense'\nctx = 512\ndepth = 4\n")
    made = layers()
    settled = made.resolve(read_config())
    (problem,) = made.problems
    assert problem.line == 4
    assert problem.what.startswith("pair.builtin.grammar: ")
    assert (settled.load.n_ctx, settled.reply.depth, settled.reply.sampling.dry_multiplier) == (512, 4, 1)


def test_for_a_pair_it_stays_for_that_pair() -> None:
    """Whatever the file names by now; what the command line calls the pair is still known."""
    configure('[model]\npair = "nowhere"\n' + PAIRS)
    settled = layers("--pair", "builtin").resolve(read_config())
    in_use = settled.in_use
    assert in_use is not None
    again = in_use.resolve(read_config())
    assert again == settled
    assert again.in_use is again.settings
    assert in_use.overrides["pair"] == "builtin"
    assert "pair" not in layers().for_pair("builtin").overrides


@pytest.mark.parametrize(
    ("settings", "name", "holds"),
    [
        ('[model]\npair = "nowhere"\nctx = 512', "model.pair", {"n_ctx": 512}),
        ("[sampling]\nmirostat = 2\ntop_k = 3\n[model]\nctx = 512", "sampling.top_k", {"n_ctx": 512}),
        ("[sampling]\ndry_base = 2\n[model]\nctx = 512", "sampling.dry_base", {"n_ctx": 512}),
        ("[sampling]\ngrammar = 'nonsense'\n[model]\nctx = 512", "sampling.grammar", {"n_ctx": 512}),
    ],
)
def test_what_cannot_stand_with_the_rest_is_left_out(settings: str, name: str, holds: dict[str, Any]) -> None:
    """One setting, named with its line; the others hold."""
    configure(settings)
    made = layers()
    load = made.resolve(read_config()).load
    (problem,) = made.problems
    key = name.rpartition(".")[2]
    assert problem.what.startswith(f"{name}: ")
    assert problem.line == next(n for n, line in enumerate(settings.splitlines(), 1) if line.startswith(key))
    assert {field: getattr(load, field) for field in holds} == holds


def test_several_mistakes_are_all_told() -> None:
    """Whatever each hides of the others."""
    configure('[model]\npair = "nowhere"\n[sampling]\ndry_base = 2\nxtc_threshold = 0.2\n')
    made = layers()
    made.resolve(read_config())
    assert sorted(problem.line or 0 for problem in made.problems) == [2, 4, 5]


def test_run_goes_on_and_says_what_it_left_out(localspec: Localspec) -> None:
    """On standard error, with the line; the reply is given."""
    configure("[sampling]\ntemprature = 1\n[reply]\nmax_tokens = 2\n")
    world = FakeWorld()
    done = localspec("run", *FILES, "hello", world=world)
    assert done.code == 0
    assert f"{config_file()}, line 2: " in done.err
    assert "left out" in done.err
    ((_, options),) = world.pairs[0].asked
    assert options.max_tokens == 2


def test_a_wrong_bias_in_the_file_is_left_out(localspec: Localspec) -> None:
    """The reply is made; given as an option, it would be refused."""
    configure('[sampling]\nlogit_bias = ["5=loud"]\n')
    done = localspec("run", *FILES, "hello")
    assert done.code == 0
    assert "line 2: sampling.logit_bias: 'loud' is neither a number nor 'ban'. It is left out." in done.err


def test_mistakes_of_the_command_line_stay_its_own(localspec: Localspec) -> None:
    """A file of settings neither hides nor causes them."""
    configure('[model]\npair = "nowhere"\n')
    done = localspec("run", "--pair", "elsewhere", "hello")
    assert done.code == 4
    assert "elsewhere" in done.err


def test_a_persona_is_a_system_prompt(localspec: Localspec) -> None:
    """By option, by setting; --system beats it and says so, and none ends it."""
    add_persona("pirate.md", "Talk like a pirate.\n")
    assert chat_config("--persona", "pirate").system == "Talk like a pirate."
    configure('[reply]\npersona = "pirate"\n')
    assert chat_config().system == "Talk like a pirate."
    assert chat_config("--persona", "none").system is None
    assert chat_config("--system", "Be brief.").system == "Be brief."
    configure('[reply]\nsystem = "Be brief."\n')
    assert chat_config("--persona", "pirate").system == "Talk like a pirate."
    assert chat_config("--persona", "none").system is None
    assert layers("--system", "a", "--persona", "pirate").resolve(read_config()).system == "a"
    done = localspec("run", *FILES, "--system", "a", "--persona", "pirate", "hello")
    assert "--system stands in place of --persona" in done.err


def test_a_missing_persona_is_a_sentence(localspec: Localspec) -> None:
    """Asked for, it is an error; in the file, it is left out."""
    add_persona("pirate.md", "x")
    done = localspec("run", *FILES, "--persona", "pirat", "hello")
    assert (done.code, done.out) == (4, "")
    assert "pirate" in done.err
    configure('[reply]\npersona = "pirat"\n')
    done = localspec("run", *FILES, "hello")
    assert done.code == 0
    assert "line 2" in done.err


def test_a_system_prompt_of_the_file_has_no_place_in_raw_text(localspec: Localspec) -> None:
    """Nor is it a contradiction, as the option would be."""
    configure('[reply]\nsystem = "Be brief."\n')
    world = FakeWorld()
    assert localspec("run", *FILES, "--raw", "hello", world=world).code == 0
    assert world.pairs[0].asked[0][0] == "hello"
    add_persona("pirate.md", "x")
    assert localspec("run", *FILES, "--raw", "--persona", "pirate", "hello").code == 2


def test_files_are_found_beside_the_settings(tmp_path: Path) -> None:
    """Whatever the working folder is."""
    configure('[sampling]\ngrammar = "@a.gbnf"\n')
    (config_file().parent / "a.gbnf").write_text('root ::= "a"\n')
    assert chat_config().reply.sampling.grammar == 'root ::= "a"'


def test_another_pair_keeps_the_rest() -> None:
    """As the screen asks for it: neither --target nor the pair of the file stands in its way."""
    configure('[model]\npair = "nowhere"\nctx = 512\n[sampling]\nlogit_bias = ["3=ban"]\n')
    made = layers(*FILES, "--threads", "3")
    made.resolve(read_config())
    other = made.for_pair("builtin").resolve(made.config)
    assert other.pair_id == "builtin"
    assert (other.load.n_ctx, other.load.threads) == (512, 3)
    assert other.reply.sampling.logit_bias == ((3, BANNED),)
    assert made.overrides["target"] == "big.gguf"


def test_what_the_command_line_says_is_known() -> None:
    """So that a screen can show why a setting has no effect."""
    said = layers("--threads", "3", "--mlock", "--spec", "off", "--preset", "creative").overrides
    assert (said["threads"], said["mlock"], said["spec"]) == ("3", "true", "off")
    assert said["temperature"] == "not used"
    assert "ctx" not in said
