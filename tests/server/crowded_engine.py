"""A scripted engine on a machine whose memory holds one large pair: files beside the target tell what is loaded."""

from __future__ import annotations

from localspec.base.errors import CapacityError
from localspec.engine.cancel import Cancellation
from localspec.runtime.load import InspectablePair
from localspec.runtime.options import LoadOptions, Progress
from tests.runtime.worker import scripted_engine


def open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> InspectablePair:
    """As ``load.open_pair``; a target named ``large-...`` has no room beside another pair."""
    held = options.target.with_suffix(".held")
    with options.target.with_suffix(".loads").open("a") as loads:
        loads.write("x")
    if options.target.stem.startswith("large") and any(each != held for each in held.parent.glob("*.held")):
        raise CapacityError("There is no room.", "Close something.")
    pair = scripted_engine.open_pair(options, cancel, progress)
    held.touch()
    close = pair.close

    def closing() -> None:
        held.unlink(missing_ok=True)
        close()

    object.__setattr__(pair, "close", closing)
    return pair
