"""Help with the options under several headings."""

from __future__ import annotations

from typing import Any

import click


class SectionOption(click.Option):
    """An option that is listed under a heading of its own."""

    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class SectionedCommand(click.Command):
    """Lists its commands, if it has any, then its options under their headings, the common ones first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                section = parameter.section if isinstance(parameter, SectionOption) else "Options"
                sections.setdefault(section, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
