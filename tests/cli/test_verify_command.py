"""``localspec verify`` from the outside."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import localspec.engine.loop as loop
from localspec.base.errors import OutputError
from localspec.cli.services import Services
from localspec.doctor.native_probe import NativeReport
from localspec.engine.cancel import Cancellation
from localspec.runtime.load import OpenPair
from localspec.runtime.options import LoadOptions, Progress
from tests.builtin import HAS_AVX512
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, Done
from tests.config.support import configure
from tests.insight.losslessness.support import PLANTED, TablePair

FEW = ("--samples", "60", "--tokens", "24", "--seed", "1")


class World:
    """Opens tables, and remembers what it was asked for."""

    def __init__(self, pair: type[TablePair] = TablePair) -> None:
        self.loads: list[LoadOptions] = []
        self._pair = pair

    def open_pair(self, options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
        self.loads.append(options)
        return self._pair(cancel=cancel)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "cde"}\n{"prompt": "ab"}\n', encoding="utf-8")
    return file


def verify(localspec: Localspec, *arguments: str | Path, world: World | None = None) -> Done:
    services = Services((world or World()).open_pair, probe_native=lambda: NativeReport(version="1.2.3"))
    return localspec("verify", *arguments, services=services)


def test_what_is_right_passes(localspec: Localspec, prompts: Path) -> None:
    """Each check in a paragraph, the verdict last, exit code 0."""
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("Lossless here, as far as these checks can tell.\n")
    for words in ("pass  greedy", "pass  sampled", "would have shown with 95%", "likelihood", "pass  rounds"):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_what_is_wrong_fails(localspec: Localspec, prompts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where it differs, and exit code 12."""
    monkeypatch.setattr(loop, "verify", PLANTED["bonus_from_the_row_before"])
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts)
    assert done.code == 12
    assert "fail  greedy" in done.out
    assert "DIFFERENT: own-" in done.out
    assert "NOT lossless here" in done.out
    assert done.err.startswith("localspec: Speculation changes replies here.")


def test_nothing_proposed_is_nothing_shown(localspec: Localspec, prompts: Path) -> None:
    """Depth 0 is plain decoding: said, and exit code 12."""
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, "--depth", "0")
    assert done.code == 12
    assert "Nothing was proposed" in done.out
    assert "Too little was tested" in done.err


def test_the_report_is_json(localspec: Localspec, prompts: Path) -> None:
    """Verdict, checks with their figures, settings and circumstances."""
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, "--json", "--top-k", "9")
    report = json.loads(done.out)
    assert report["verdict"] == "pass"
    assert [check["name"] for check in report["checks"]] == ["greedy", "sampled", "likelihood", "json", "rounds"]
    assert report["settings"]["sampling"] == {"temperature": 1.0, "top_k": 9}
    assert (report["settings"]["depth"], report["settings"]["seed"], report["settings"]["samples"]) == (3, 1, 60)
    assert report["circumstances"]["llama_cpp"]["version"] == "1.2.3"
    assert report["circumstances"]["localspec"]


def test_the_report_for_a_bug_has_the_hashes_of_the_files(localspec: Localspec, prompts: Path, tmp_path: Path) -> None:
    """As Markdown, beside what is printed."""
    target = tmp_path / "big.gguf"
    target.write_bytes(b"tables")
    out = tmp_path / "report.md"

    class Located(TablePair):
        @property
        def info(self) -> Any:
            from tests.cli.support import info_of

            return info_of(LoadOptions(target))

    done = verify(localspec, "--target", target, *FEW, "--prompts", prompts, "--out", out, world=World(Located))
    assert done.code == 0
    report = out.read_text(encoding="utf-8")
    assert report.startswith("# localspec verify\n\n**Lossless here")
    assert f"target sha256 | `{hashlib.sha256(b'tables').hexdigest()}`" in report


def test_ctrl_c_keeps_the_checks_that_are_done(localspec: Localspec, prompts: Path) -> None:
    """Which then say nothing of the whole; exit code 130."""

    class Interrupted(TablePair):
        def reply(self, prompt: Any, options: Any, prefix: str = "") -> Any:
            if not options.sampling.greedy and not self.cancel.is_set():
                os.kill(os.getpid(), signal.SIGINT)
                while not self.cancel.is_set():
                    pass
            return super().reply(prompt, options)

    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, world=World(Interrupted))
    assert done.code == 130
    assert "pass  greedy" in done.out
    assert "Cut short after 1 checks. Not shown" in done.out


@pytest.mark.parametrize("where", ["localspec.cli.verify._hashes", "localspec.cli.verify._llama_cpp"])
def test_ctrl_c_behind_the_checks_keeps_them(
    localspec: Localspec, prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """While it is said on what they were done; exit code 130."""

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(where, interrupt)
    out = tmp_path / "report.md"
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, "--out", out)
    assert done.code == 130
    assert "pass  rounds" in done.out
    assert done.out.endswith("Lossless here, as far as these checks can tell.\n")
    assert "**rounds: pass**" in out.read_text(encoding="utf-8")


def test_ctrl_c_while_the_models_are_closed_keeps_the_checks(localspec: Localspec, prompts: Path) -> None:
    """Exit code 130."""

    class Interrupted(TablePair):
        def close(self, cancel: Cancellation | None = None) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            while not self.cancel.is_set():
                pass

    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, world=World(Interrupted))
    assert done.code == 130
    assert done.out.endswith("Lossless here, as far as these checks can tell.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_file_that_cannot_be_written_costs_no_report(
    localspec: Localspec, prompts: Path, tmp_path: Path, form: Sequence[str]
) -> None:
    """It is on the terminal by then."""
    out = tmp_path / "full"
    out.symlink_to("/dev/full")
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, "--out", out, *form)
    assert done.code == OutputError.exit_code
    assert "full cannot be written: there is no room left on the disk." in done.err
    assert "Lossless here" in done.out or json.loads(done.out)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--spec", "off"), 2, "--spec off leaves nothing to check."),
        (("--depth", "17"), 2, "0 to 16"),
        (("--samples", "3"), 2, "--samples"),
        (("--prompts", "none.jsonl"), 4, "none.jsonl cannot be read"),
        (("--out", "no/such/folder/report.md"), 2, "There is no folder"),
        (("--max-tokens", "3"), 2, "No such option"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(
    localspec: Localspec, arguments: Sequence[str], code: int, complaint: str
) -> None:
    """A sentence and a code."""
    world = World()
    done = verify(localspec, *FILES, *arguments, world=world)
    assert (done.code, done.out) == (code, "")
    assert complaint in done.err
    assert world.loads == []


def test_settings_of_the_file_count(localspec: Localspec, prompts: Path) -> None:
    """How models are loaded and tokens are chosen; not what only a reply has, nor the depth."""
    configure("[model]\nthreads = 3\n\n[sampling]\ntop_k = 7\n\n[speculation]\ndepth = 9\n")
    world = World()
    done = verify(localspec, *FILES, *FEW, "--prompts", prompts, "--json", world=world)
    settings = json.loads(done.out)["settings"]
    assert world.loads[0].threads == 3
    assert (settings["sampling"]["top_k"], settings["sampling"]["temperature"], settings["depth"]) == (7, 1.0, 3)


def test_the_built_in_pair_is_lossless(localspec: Localspec, tmp_path: Path) -> None:
    """From one end to the other, over the real engine."""
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "Tell me a story about a fox."}\n{"prompt": "Write a poem."}\n', encoding="utf-8")
    done = localspec(
        *("verify", "--prompts", file, "--samples", "40", "--tokens", "24", "--seed", "2", "--json"),
        services=Services(probe_native=NativeReport),
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
    assert (outcomes["greedy"], outcomes["sampled"], outcomes["json"], outcomes["rounds"]) == ("pass",) * 4
    assert report["circumstances"]["target"]["sha256"]
    # Activations are rounded to 8 bits before they meet four-bit weights, so logits move more with the batch.
    assert report["checks"][0]["figures"]["batch_noise"] < (0.3 if HAS_AVX512 else 0.4)
    assert report["checks"][-1]["figures"]["draft_n_accepted"] > 50
