"""The figures of replies, kept for what is expected of this pair and of others with weights of the same type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.devices import choose, list_devices
from localspec.engine.backends.llama.native import native
from localspec.engine.events import Event, Finished, Round
from localspec.engine.timings import Timings
from localspec.gguf import GgufHeader
from localspec.gguf.draft_heads import DFLASH, DRAFT, EAGLE3, MTP
from localspec.models.token_work import TokenWork, token_work
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions
from localspec.runtime.speed.speed_file import PairRun, SpeedFile, machine_name, run_key

_KINDS = (DRAFT, MTP, EAGLE3, DFLASH)
_FEWEST_TOKENS = 16
"""A shorter reply says little about speed."""


@dataclass(slots=True)
class SpeedRecorder:
    """Keeps the figures of replies that are made as the app makes them unasked."""

    file: SpeedFile | None
    """None for a pair that is placed on devices by hand, whose speed says nothing about other pairs."""
    key: str
    work: TokenWork
    """The target's."""
    _accepted: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Accepted and judged proposals of the present reply, by kind of drafter."""

    @staticmethod
    def of(options: LoadOptions, parts: Sequence[GgufHeader]) -> SpeedRecorder:
        """The recorder of a pair; ``parts`` are the headers of the target."""
        layers, devices = (options.gpu_layers, options.draft_gpu_layers), (options.device, options.draft_device)
        by_hand = any(wish is not None for wish in (*layers, *devices, options.rpc))
        files = [path.name for path in (options.target, options.draft) if path is not None]
        return SpeedRecorder(None if by_hand else SpeedFile(_this_machine(options)), run_key(*files), token_work(parts))

    def observe(self, event: Event, options: ReplyOptions) -> None:
        """Count the rounds of a reply, and keep its figures at its end."""
        if self.file is None or options.depth is not None or options.spec is not None:
            return
        if isinstance(event, Round):
            self._count(event)
        elif isinstance(event, Finished):
            accepted, self._accepted = self._accepted, {}
            if run := self._run(event.timings):
                self.file.keep_run(self.key, run, accepted)

    def _count(self, round_: Round) -> None:
        if round_.drafter in _KINDS:
            good, judged = self._accepted.get(round_.drafter, (0.0, 0.0))
            refused = bool(round_.rejected)
            self._accepted[round_.drafter] = (good + round_.accepted_n, judged + round_.accepted_n + refused)

    def _run(self, timings: Timings) -> PairRun | None:
        plain, speed = timings.plain_per_second, timings.predicted_per_second
        if timings.busy or not plain or not speed or timings.predicted_n < _FEWEST_TOKENS:
            return None
        return PairRun(self.work, plain, speed, drafted=timings.draft_n > 0)


def _this_machine(options: LoadOptions) -> str:
    library = native()
    info = library.c.llama_print_system_info().decode(errors="replace")
    devices = [device.name for device in choose(list_devices(library), None)]
    return machine_name(info, options.threads or physical_cores(), devices)
