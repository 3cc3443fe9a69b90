"""The law: a new setting is a declaration in the table, and a field of the dataclass that takes it; nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import localspec

DECLARED = """
    Setting("reply", "shout_share", Number(0, 1), "Shout this share of the words", "0.25"),
    Setting("model", "warm_up", Flag(), "Warm up before the first reply", "no", Applies.RELOAD),
"""
FIELDS = {
    "runtime/messages.py": ("    stop: tuple[str, ...] = ()\n", "    shout_share: float = 0.25\n"),
    "runtime/options.py": ("    mlock: bool = False\n", "    warm_up: bool = False\n"),
}
SEEN = """
import json
from localspec.chat.settings.conversation import set_from
from localspec.cli.options import overrides
from localspec.cli.run import run
from localspec.config import read_config, setting
from localspec.config.file import write_value
from localspec.runtime.resolver import SettingsResolver
from localspec.runtime.worker.codec import decode_request, encode
from localspec.runtime.worker.messages import Generate, Load
from localspec.chat.settings.browser import SettingsBrowser
from tests.readme import settings as page

def resolver(*arguments):
    with run.make_context("localspec run", [*arguments, "hello"]) as context:
        return SettingsResolver(overrides(context))

write_value(setting("shout_share"), 0.5)
write_value(setting("warm_up"), True, "builtin")
settings = resolver()
config = settings.resolve(read_config())
for_pair = [config.reply.shout_share, config.load.warm_up]
crossed = [decode_request(encode(sent)) for sent in (Load(config.load), Generate(1, "hello", config.reply))]
over = resolver("--shout-share", "1", "--no-warm-up").resolve(read_config())
changed = set_from(settings, {}, "shout-share 0.75")
browser = SettingsBrowser(settings)
browser.text = "shout"
read_config().path.write_text("[reply]\\nshout_share = 2\\n")
print(json.dumps({
    "help": run.get_help(run.make_context("localspec run", ["hello"])),
    "file": for_pair,
    "engine": [crossed[1].options.shout_share, crossed[0].options.warm_up],
    "line": [over.reply.shout_share, over.load.warm_up],
    "set": [dict(changed.own), changed.chat_config.reply.shout_share],
    "screen": ["".join(text for text, _ in row.parts) for row in browser.rows(100)],
    "details": [text for text, _ in browser.details()],
    "problems": [problem.what for problem in read_config().problems],
    "page": page(),
}))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with two more settings: in the table, and in the dataclasses that take them."""
    root = tmp_path_factory.mktemp("copied")
    package = Path(localspec.__file__).parent
    shutil.copytree(package, root / "localspec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("assets", "models.toml"):
        (root / name).symlink_to(package.parent / name)
    table = root / "localspec" / "config" / "table.py"
    before, assignment, after = table.read_text().partition("SETTINGS: tuple[Setting, ...] = (\n")
    items, end, rest = after.partition("\n)\n")
    assert assignment
    assert end
    table.write_text(before + assignment + items + DECLARED.rstrip() + end + rest)
    for name, (field, another) in FIELDS.items():
        file = root / "localspec" / name
        text = file.read_text()
        assert text.count(field) == 1
        file.write_text(text.replace(field, field + another))
    return root


def test_a_declaration_is_all_that_a_setting_needs(copied: Path, tmp_path: Path) -> None:
    """It is an option, a key of the file and of tables of pairs, a name for /set, a row of screen and page."""
    repository = Path(localspec.__file__).parent.parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(copied), str(repository))),
        "LOCALSPEC_HOME": str(tmp_path / "home"),
    }
    done = subprocess.run(
        [sys.executable, "-c", SEEN], env=environment, cwd=copied, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    seen = json.loads(done.stdout)
    assert "--shout-share F" in seen["help"]
    assert "--warm-up / --no-warm-up" in seen["help"]
    assert seen["file"] == [0.5, True]
    assert seen["engine"] == [0.5, True]
    assert seen["line"] == [1.0, False]
    assert seen["set"] == [{"reply.shout_share": 0.75}, 0.75]
    assert any("shout share" in row and "0.5" in row for row in seen["screen"])
    assert "Applies with the next reply." in seen["details"][-1]
    assert seen["problems"] == ["reply.shout_share: it should be a number from 0 to 1, not 2"]
    assert (
        "| `shout_share` | a number from 0 to 1 | 0.25 | Shout this share of the words. | pair, conversation |"
        in seen["page"]
    )
    assert "| `warm_up` | true or false | no | Warm up before the first reply. | pair |" in seen["page"]
