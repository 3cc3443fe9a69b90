"""The engine against llama.cpp's own server.

python -m tests.benchmarks.engine grid   --target T --draft D --server llama-server --out result.json
python -m tests.benchmarks.engine report result.json ...
python -m tests.benchmarks.engine counts --target T --draft D --server llama-server --depth 3
python -m tests.benchmarks.engine memory --target T --draft D --server llama-server
python -m tests.benchmarks.engine traces --target T --draft D --out traces.json
python -m tests.benchmarks.engine replay traces.json [--policy module:factory]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.benchmarks.engine import commands


def main() -> None:
    """Parse and do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = parser.add_subparsers(required=True)
    _grid(choices.add_parser("grid", help="measure every configuration with every prompt"))
    _counts(choices.add_parser("counts", help="accepted proposals of both engines at one depth, temperature 0"))
    _report(choices.add_parser("report", help="result files as tables"))
    _memory(choices.add_parser("memory", help="resident memory of both engines"))
    _traces(choices.add_parser("traces", help="what the draft proposes along the target's own text"))
    _replay(choices.add_parser("replay", help="what depth policies come to on traces"))
    options = parser.parse_args()
    options.do(options)


def _grid(parser: argparse.ArgumentParser) -> None:
    _pair(parser)
    _server(parser)
    _cases(parser)
    parser.add_argument(
        "--configs", nargs="*", default=[], metavar="NAME", help="configurations; * and ? stand for others"
    )
    parser.add_argument("--json-schema", type=Path, metavar="FILE", help="hold the replies of both engines to it")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--minutes", type=float, help="begin no repetition that would probably end later")
    parser.add_argument(
        "--resident", type=int, metavar="N", help="servers kept loaded (default: as many as memory holds)"
    )
    parser.add_argument("--out", type=Path, required=True, help="result file, written after every repetition")
    parser.set_defaults(do=commands.grid)


def _counts(parser: argparse.ArgumentParser) -> None:
    _pair(parser)
    _server(parser)
    _cases(parser)
    parser.add_argument("--depth", type=int, default=3, metavar="N")
    parser.set_defaults(do=commands.count)


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+")
    parser.set_defaults(do=commands.show)


def _memory(parser: argparse.ArgumentParser) -> None:
    _pair(parser)
    _server(parser)
    parser.add_argument("--own", default="own:3", metavar="NAME")
    parser.add_argument("--against", default="server:3", metavar="NAME")
    parser.set_defaults(do=commands.remember)


def _traces(parser: argparse.ArgumentParser) -> None:
    _pair(parser)
    _cases(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.set_defaults(do=commands.traces, server_draft_threads=None)


def _replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", type=Path)
    parser.add_argument("--prices", type=Path, help="another trace file, whose prices to use")
    parser.add_argument("--policy", nargs="*", default=[], metavar="MODULE:FACTORY", help="see replay.py")
    parser.set_defaults(do=commands.replay)


def _pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument(
        "--draft", type=Path, help="a draft model or a draft head; left out where the target has MTP layers"
    )
    parser.add_argument("--ctx", type=int, default=1024, metavar="N", help="context of both engines")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="for all models of both engines (default: one a core; ours takes one for a toy)",
    )


def _server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", type=Path, required=True, help="the llama-server program")
    parser.add_argument(
        "--server-draft-threads", type=int, metavar="N", help="for the server's draft (default: as the target)"
    )


def _cases(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prompts", nargs="*", default=[], metavar="NAME", help="prompts of suite.py; * and ? stand for others"
    )
    parser.add_argument("--tokens", type=int, default=200, metavar="N", help="most tokens of a reply")
    parser.add_argument("--temperatures", type=float, nargs="*", default=[0.0, 0.8], metavar="T")
    parser.add_argument("--seed", type=int, default=1)


if __name__ == "__main__":
    main()
