"""The file of settings: what is valid holds, what is not is told with its line, and nothing is lost in writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.errors import ConfigError
from localspec.config import Config, config_file, read_config, setting
from localspec.config.file import write_server, write_value
from tests.config.support import configure


def told(config: Config) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.what) for problem in config.problems]


def test_no_file_is_no_settings() -> None:
    """And nothing to complain about."""
    config = read_config()
    assert (config.values, config.problems, config.stamp) == ({}, (), None)


def test_values_and_their_lines() -> None:
    """In tables, dotted, inline and over several lines."""
    path = configure('model.ctx = 4096\nreply = { seed = 7 }\n[sampling]\n\ntop_k = 3\nlogit_bias = [\n"1=ban",\n]\n')
    config = read_config()
    assert config.values == {
        "model.ctx": 4096,
        "reply.seed": 7,
        "sampling.top_k": 3,
        "sampling.logit_bias": ("1=ban",),
    }
    assert config.lines == {"model.ctx": 1, "reply.seed": 2, "sampling.top_k": 5, "sampling.logit_bias": 6}
    assert (config.path, config.problems) == (path, ())


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("temprature = 1", "there is no setting sampling.temprature; did you mean sampling.temperature?"),
        ("theme = 'dark'", "there is no setting sampling.theme; did you mean screen.theme?"),
        ("top_k = 'many'", "sampling.top_k: it should be a whole number of tokens from 0, not 'many'"),
        (f"top_k = {10**20}", "sampling.top_k: it should be at most 2147483647"),
        (f"top_k = {'9' * 5000}", "this is no TOML: a number in it is too long"),
        (f"stop = {'[' * 5000}{']' * 5000}", "this is no TOML: it is nested too deeply"),
        (
            f"repeat_last_n = {2**20 + 1}",
            "sampling.repeat_last_n: it should be a whole number of tokens from 1 to 1048576",
        ),
        ("dynatemp_range = 1e39", "sampling.dynatemp_range: it should be a finite number, at most 3e+38"),
        ("top_k = 1.5", "sampling.top_k: it should be a whole number of tokens from 0, not 1.5"),
        ("min_p = 2", "sampling.min_p: it should be a number from 0 to 1, not 2"),
        ("top_p = 0", "sampling.top_p: it should be a number above 0, up to 1, not 0"),
        ("preset = 'wild'", "sampling.preset: it should be one of precise, balanced, creative, not 'wild'"),
        ("json_schema = '@none.json'", "sampling.json_schema: "),
        ("grammar = '@~nosuchuser/x'", "sampling.grammar: there is no home for ~nosuchuser/x"),
        ('grammar = "@a\\u0000b"', "sampling.grammar: "),
        ("logit_bias = ['x']", "sampling.logit_bias: it should be an array of texts of the form ID=BIAS, "),
        ("temperature = 2", "sampling.temperature is set a second time; line 2 counts"),
        ("nonsense", "this is no TOML: "),
        ("top_k = [1,", "this is no TOML: "),
        ('system = """', "this is no TOML: "),
        ("= 3", "this is no TOML: "),
        ("[loud]", "there is no section loud"),
        ("[sampling.more]", "there is no section sampling.more; did you mean sampling?"),
    ],
    ids=lambda value: value[:20],
)
def test_a_mistake_costs_one_line(line: str, what: str) -> None:
    """It is told with its number, and what stands before and after holds."""
    configure(f"[sampling]\ntemperature = 0.5\n{line}\n[model]\nctx = 512\n")
    config = read_config()
    ((number, said),) = told(config)
    assert number == 3
    assert said.startswith(what)
    assert config.values == {"sampling.temperature": 0.5, "model.ctx": 512}
    assert str(config.problems[0]).startswith(f"{config.path}, line 3: ")


def test_a_dotted_name_of_no_setting_is_told() -> None:
    """Without a header above it, and among the keys of actions."""
    configure("loud.volume = 3\n[keys]\nnew.fast = 'f5'\n[tools]\nmax_calls = 3\n")
    config = read_config()
    assert told(config) == [(1, "there is no setting loud.volume"), (3, "there is no setting keys.new.fast")]
    assert (config.values, config.keys) == ({"tools.max_calls": 3}, {})


def test_what_follows_an_unreadable_header_belongs_nowhere() -> None:
    """Until the next header, so that no value ends up in a table it was not written in."""
    configure("[model]\nctx = 512\n[sampling\ntop_k = 1\n[reply]\nseed = 2\n")
    config = read_config()
    assert config.values == {"model.ctx": 512, "reply.seed": 2}
    assert [line for line, _ in told(config)] == [3]


def test_bytes_that_are_not_text_cost_their_line() -> None:
    """The rest is read."""
    configure(b"[reply]\nsystem = 'caf\xe9'\nseed = 1\n")
    config = read_config()
    assert told(config) == [(2, "this is not UTF-8 text")]
    assert config.values == {"reply.seed": 1}


def test_a_file_that_cannot_be_read_is_a_problem() -> None:
    """A folder in its place, for example; all settings are then as built in."""
    config_file().mkdir(parents=True)
    config = read_config()
    assert not config.values
    assert len(config.problems) == 1


def test_keys_of_actions_are_kept_for_whoever_knows_actions() -> None:
    """Only their form is known here."""
    configure('[keys]\nstop = "ctrl+x"\nnew = 3\n')
    config = read_config()
    assert config.keys == {"stop": "ctrl+x"}
    assert [line for line, _ in told(config)] == [3]


def test_files_are_found_beside_the_settings() -> None:
    """A name after @ is relative to the folder of the file."""
    configure('[sampling]\njson_schema = "@schema.json"\n')
    (config_file().parent / "schema.json").write_text("{}")
    assert read_config().values == {"sampling.json_schema": "@schema.json"}


def test_writing_makes_the_file_and_keeps_the_rest() -> None:
    """A first value makes folder and file; a later one leaves what somebody wrote meanwhile."""
    config = write_value(setting("theme"), "dark")
    assert config.values == {"screen.theme": "dark"}
    with config_file().open("a") as file:
        file.write("# mine\n")
    assert config.changed_on_disk
    config = write_value(setting("ctx"), 512)
    assert "# mine\n" in config_file().read_text()
    assert config.values == {"screen.theme": "dark", "model.ctx": 512}
    assert not config.changed_on_disk
    assert write_value(setting("theme"), None).values == {"model.ctx": 512}


def test_writing_goes_through_links_and_keeps_permissions(tmp_path: Path) -> None:
    """As people have it who keep their settings elsewhere."""
    real = tmp_path / "mine.toml"
    real.write_text("\ufeff[model]\nctx = 1 # small\n", encoding="utf-8")
    real.chmod(0o600)
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(real)
    write_value(setting("ctx"), 2)
    assert config_file().is_symlink()
    assert real.read_bytes() == "\ufeff[model]\nctx = 2 # small\n".encode()
    assert real.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("text", [b"[model]\nctx = 1\nctx = 3\n", b"[model]\nctx = 1 # caf\xe9\n"])
def test_what_cannot_be_changed_safely_is_left_alone(text: bytes) -> None:
    """With a sentence that says what to do."""
    path = configure(text)
    with pytest.raises(ConfigError, match="by hand"):
        write_value(setting("ctx"), 2)
    assert path.read_bytes() == text


def test_a_folder_that_cannot_be_written_is_a_sentence() -> None:
    """Here a file stands where the folder should be."""
    config_file().parent.parent.mkdir(parents=True)
    config_file().parent.write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_value(setting("ctx"), 2)


_ZONE = "[mcp.time.env]\nZONE = 'UTC'\n"


@pytest.mark.parametrize(
    "server",
    [
        f"type = 'stdio'\nautoApprove = ['all']\ncommand = 'clock'\n\n{_ZONE}",
        f"args = []\ncommand = 'clock'\n\n{_ZONE}",
        f"headers = {{}}\ncommand = 'clock'\n\n{_ZONE}",
        "command = 'clock'\nenv = { ZONE = 'UTC', AREA = 'x' }\n",
    ],
)
def test_a_server_that_is_taken_out_leaves_nothing(server: str) -> None:
    """Neither keys of other clients nor empty values, which by themselves would be a mistake."""
    path = configure(f"[model]\nctx = 512\n\n[mcp.time]\n{server}")
    before = read_config()
    assert (list(before.servers), before.problems) == (["time"], ())
    assert write_server("time", None).problems == ()
    assert path.read_text() == "[model]\nctx = 512\n"
