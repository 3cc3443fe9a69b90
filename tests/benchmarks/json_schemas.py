"""The public JSON Schema test suite: of each schema, whether it is taken, and whether it is kept then.

    python -m tests.benchmarks.json_schemas .../JSON-Schema-Test-Suite/tests/draft2020-12

The folder lies in the source distribution of the Python package jsonschema. Schemas are closed by the program where
they leave other properties open, so a valid value may be refused; an invalid one must be.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.vocab import LlamaVocab
from tests.engine.vocabulary import builtin_vocab
from tests.schema_replies import replies, takes

REPLIES = 20


def judge(schema: Any, cases: list[dict[str, Any]], vocab: LlamaVocab) -> tuple[str, list[str]]:
    """Its outcome in a word, and what was wrong."""
    try:
        grammar = grammar_of_schema(json.dumps(schema))
    except UsageError as error:
        return "refused", [error.message]
    try:
        wrong = [
            f"takes {case['data']!r}" for case in cases if not case["valid"] and takes(grammar, case["data"], vocab)
        ]
        written = list(replies(grammar, vocab, REPLIES))
    except UsageError as error:
        return "stopped", [error.message]
    validator = Draft202012Validator(schema)
    wrong += [f"writes {value!r}" for value in written if not validator.is_valid(value)]
    return ("broken" if wrong else "kept" if written else "never ended"), wrong


def main() -> None:
    outcomes: Counter[str] = Counter()
    with builtin_vocab() as vocab:
        for path in sorted(Path(sys.argv[1]).glob("*.json")):
            for group in json.loads(path.read_text(encoding="utf-8")):
                outcome, details = judge(group["schema"], group["tests"], vocab)
                outcomes[outcome] += 1
                if outcome != "kept":
                    print(f"{outcome}: {path.name}: {group['description']}: {'; '.join(details[:3])}")
    print(", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common()))


if __name__ == "__main__":
    main()
