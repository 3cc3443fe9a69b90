"""Checks of the machine: folders, the cache of the Hub, the network and large memory pages."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from localspec.base.errors import LocalSpecError, StoreError, reason_of
from localspec.base.paths import user_paths
from localspec.config import Value, read_config
from localspec.config.kinds import NONE
from localspec.doctor.finding import NOTE, OK, PROBLEM, Finding
from localspec.gguf.draft_heads import DRAFT
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.models.pairs.disk import is_folder, links_below, may_exist
from localspec.models.pairs.embedder import find_embedder, passages_found_by
from localspec.models.pairs.free_space import free_bytes
from localspec.models.pairs.hub_cache import CERTIFICATE, hub_address, hub_cache, is_hub_barred
from localspec.models.pairs.leftovers import find_leftovers
from localspec.models.pairs.stores.hub import repositories
from localspec.runtime.calls.form import calls_of
from localspec.runtime.effective import setting_problems
from localspec.runtime.figures import size
from localspec.store import database_file
from localspec.store.opening import examine
from localspec.store.store import BUSY_S

_LITTLE_BYTES = 5_000_000_000
_HARDLY_ANY_BYTES = 50_000_000
_TIMEOUT_S = 3.0
_LATER = "Everything on this machine works without it; pairs cannot be downloaded."
SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def check_folders() -> list[Finding]:
    paths = user_paths()
    named = (("config", paths.config), ("data", paths.data), ("logs", paths.logs), ("cache of the Hub", hub_cache()))
    return [*(_folder(name, path) for name, path in named), *_full(paths.data)]


def check_settings() -> list[Finding]:
    """A finding for each setting that is left out; none where all count, or where the pairs cannot be read."""
    try:
        problems = setting_problems(read_config())
    except LocalSpecError:
        return []  # the finding on pairs has the reason
    hint = "`localspec config edit` opens the file, and `localspec config check` looks for more."
    return [Finding("settings", PROBLEM, f"{problem} It is left out.", hint) for problem in dict.fromkeys(problems)]


def check_history() -> list[Finding]:
    """The finding on the file of conversations; none where there is no file yet."""
    path = database_file()
    if not os.path.exists(path):  # noqa: PTH110 -- False also where nobody may look; the folder is a finding then
        return []
    try:
        notice = examine(path, BUSY_S)
    except StoreError as error:
        return [Finding("history", PROBLEM, error.message, error.hint)]
    if notice:
        return [Finding("history", PROBLEM, notice)]
    return [Finding("history", OK, f"Conversations are stored in {path}.")]


def check_cache() -> list[Finding]:
    """Findings on the cache of the Hub, on pairs, on tools and on the embedding model."""
    cache = hub_cache()
    findings = [_room(cache), _links(cache), _leftovers(cache), _tools(), _own_pairs(), _passages()]
    return [finding for finding in findings if finding is not None]


def _folder(name: str, path: Path) -> Finding:
    place = next((each for each in (path, *path.parents) if may_exist(each)), path)
    if not is_folder(place) and os.access(place.parent, os.X_OK):
        text = f"{name}: {place} is not a folder."
        return Finding("folders", PROBLEM, text, "Move it away, or choose another place.")
    if not os.access(place, os.W_OK | os.X_OK):
        variable = "HF_HOME" if "Hub" in name else "LOCALSPEC_HOME"
        return Finding(
            "folders", PROBLEM, f"{name}: {path} cannot be written.", f"Correct its permissions, or set {variable}."
        )
    return Finding("folders", OK, f"{name}: {path}" + ("" if place == path else " (made when it is needed)"))


def _full(data: Path) -> list[Finding]:
    """The finding on the disk of conversations if it is nearly full; none otherwise."""
    free = free_bytes(data)
    if free is None or free >= _HARDLY_ANY_BYTES:
        return []
    text = f"data: {size(free)} are free on its disk; a conversation that finds no room is lost."
    return [Finding("folders", NOTE, text, "Free some room.")]


def _room(cache: Path) -> Finding | None:
    free = free_bytes(cache)
    if free is None:
        return None
    text = f"{size(free)} are free on its disk."
    if free < _LITTLE_BYTES:
        return Finding("cache", NOTE, text, "Most pairs need more: `localspec pairs prune` and `pairs rm` free some.")
    return Finding("cache", OK, text)


def _links(cache: Path) -> Finding:
    models = list(repositories(cache))
    try:
        entries = [path for _, folder in models for path in links_below(folder / "snapshots")]
    except OSError as error:
        text = f"Part of it cannot be read: {error.filename}, {error.strerror}."
        return Finding("cache", PROBLEM, text, "Correct its permissions, or set HF_HOME to a folder of your own.")
    dangling = [path for path in entries if not may_exist(path)]
    if dangling:
        text = f"{len(dangling)} of its entries point to missing files, the first is {dangling[0]}."
        return Finding("cache", PROBLEM, text, "Download those models again, or remove the entries.")
    return Finding("cache", OK, f"It has {len(models)} model repositories, and no broken entry.")


def _leftovers(cache: Path) -> Finding | None:
    found = find_leftovers(cache)
    if not found:
        return None
    total = sum(each.size_bytes for each in found)
    text = f"Unfinished downloads and the like take {size(total)}."
    return Finding("cache", NOTE, text, "`localspec pairs prune` lists them, and removes them on request.")


def _own_pairs() -> Finding:
    try:
        known = load_catalogue().pairs
    except LocalSpecError as error:
        return Finding("pairs", PROBLEM, error.message, error.hint)
    single_n = sum(pair.draft is None and pair.drafter == DRAFT for pair in known)
    are = "is a single model, which drafts from its" if single_n == 1 else "are single models, which draft from their"
    single = f" {single_n} {are} own text (suffix)." if single_n else ""
    return Finding("pairs", OK, f"{len(known)} pairs are known.{single}")


def _tools() -> Finding | None:
    """The syntax in which the pair of the settings calls tools; None if its file is not here or has none."""
    try:
        pair = load_catalogue().find(str(read_config().values.get("model.pair", BUILTIN_ID)))
    except LocalSpecError:
        return None
    calls = calls_of(pair)
    return Finding("tools", OK, f"The pair {pair.id} calls tools, in this syntax: {calls}.") if calls else None


def _passages() -> Finding:
    found_by = passages_found_by(find_embedder(os.environ))
    return Finding("passages", OK, f"Passages of attached files are found by {found_by}.")


def check_server(address: Value | None) -> list[Finding]:
    """The server that the chat is connected to, if the settings name one."""
    from localspec.engine.cancel import Cancellation
    from localspec.runtime.remote.opening import describe_server

    if address in (None, NONE):
        return []
    try:
        found, warning = describe_server(str(address), Cancellation())
    except LocalSpecError as error:
        return [Finding("server", PROBLEM, error.message, error.hint)]
    insecure = [Finding("server", NOTE, warning)] if warning else []
    return [Finding("server", OK, found), *insecure]


def check_network(environ: Mapping[str, str] = os.environ) -> Finding:
    address = hub_address(environ)
    if is_hub_barred(environ):
        return Finding("network", NOTE, f"HF_HUB_OFFLINE is set: {address} is not contacted.", _LATER)
    if not address.startswith(("https://", "http://")):
        return Finding("network", NOTE, f"HF_ENDPOINT is not an address: {address}.", "It must begin with https://.")
    try:
        request = urllib.request.Request(address, method="HEAD")  # noqa: S310 -- the scheme was checked
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S):  # noqa: S310
            pass
    except urllib.error.HTTPError:
        pass  # any status is an answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", None) or error
        reason = (reason_of(cause) if isinstance(cause, Exception) else str(cause)) or type(error).__name__
        hint = CERTIFICATE if "CERTIFICATE_VERIFY_FAILED" in reason else _LATER
        return Finding("network", NOTE, f"{address} does not answer: {reason}.", hint)
    return Finding("network", OK, f"{address} answers.")


def check_large_pages(switch: Path = SWITCH) -> list[Finding]:
    """The finding; none on systems other than Linux."""
    try:
        chosen = switch.read_text(encoding="utf-8").partition("[")[2].partition("]")[0]
    except OSError:
        return []
    if chosen != "never":
        return [Finding("memory", OK, "Weights are in large pages, which a CPU reads faster.")]
    return [
        Finding(
            "memory",
            NOTE,
            "Large pages are turned off; with them a CPU reads weights faster.",
            "Allow them for programs that request them, until the next start of the machine:",
            f"echo madvise | sudo tee {switch}",
        )
    ]
