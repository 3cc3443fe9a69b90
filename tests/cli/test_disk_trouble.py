"""Disks that are full or read-only, for real: small file systems in a mount namespace of one child's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.store import Store
from tests.store.support import converse

IN_A_NAMESPACE = ["unshare", "--mount"]
CHILD = """
import contextlib, io, json, os, subprocess, sys
from localspec.cli import main
from tests.cli.support import FakeWorld

home, kind = sys.argv[1:]

def done(*arguments, said=""):
    out, err = io.StringIO(), io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(said.encode()))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments, services=FakeWorld().services())
        except SystemExit as end:
            return [end.code, out.getvalue(), err.getvalue()]

if kind == "full":
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", home], check=True)
    subprocess.run(["cp", "-r", f"{home}.copy/data", home], check=True)
    with contextlib.suppress(OSError), open(f"{home}/filler", "wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass
else:
    subprocess.run(["cp", "-r", f"{home}.copy/data", home], check=True)
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", home], check=True)
print(json.dumps([
    done("history", "list"),
    done("chat", "--plain", "--continue", "--target", "big.gguf", "--draft", "small.gguf", said="hello"),
    done("history", "export", "--all", "-o", f"{home}/export.md"),
    done("config", "set", "depth", "4"),
    sorted(os.listdir(home)),
]))
"""


def may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run([*IN_A_NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not may_mount(), reason="mounting is for root")
@pytest.mark.parametrize(("kind", "reason"), [("full", "no room left on the disk"), ("ro", "file system is read-only")])
def test_what_is_there_is_read_and_nothing_is_lost_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    """Lists and the line mode go on, which ends with the exit code of what was not stored.

    Each sentence has the reason in it, and no traceback is shown.
    """
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("LOCALSPEC_HOME", str(home))
    store = Store.open(tmp_path / "home.copy" / "data" / "history.db")
    converse(store, ("Where is a fox?", "In the wood."))
    store.close()
    child = subprocess.run(
        [*IN_A_NAMESPACE, sys.executable, "-c", CHILD, home, kind], capture_output=True, text=True, check=True
    )
    listed, talked, exported, changed, left = json.loads(child.stdout)
    assert (listed[0], talked[0], exported[0], changed[0]) == (0, 11, 13, 9), child.stdout
    assert all(reason in err for _, _, err in (listed, talked, exported, changed))
    assert "Where is a fox?" in listed[1]
    assert "Opened Where is a fox?, 2 messages" in talked[2]
    assert "is lost; /export FILE as the last line keeps it." in talked[2]
    assert "permissions" not in changed[2]
    assert not any("Traceback" in err for _, _, err in (listed, talked, exported, changed))
    assert "export.md" not in left
    assert not any(name.startswith(".") for name in left)
