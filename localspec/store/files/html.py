"""The HTML export: the shown branches of conversations as one page that needs nothing else, with the token colours.

The page has no script and loads nothing, which its content security policy enforces. All text is escaped; Markdown is
rendered without raw HTML and without images. The images of messages are in the page itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from localspec.base.token_legend import MEANINGS, ON_DARK, ON_LIGHT
from localspec.base.visible import visible, visible_line
from localspec.engine.events import Origin, Round
from localspec.runtime.figures import sentence
from localspec.runtime.images import split_images
from localspec.runtime.messages import Role
from localspec.runtime.reasoning import Reasoning
from localspec.store.documents import ConversationDocument, MessageDocument
from localspec.store.files.images import PageImages
from localspec.store.replies import StoredReply
from localspec.store.summaries import recap_of

DARK = {"text": "#D5D9DC", "ground": "#121518", "quiet": "#8E979F", "panel": "#1B1F23", **ON_DARK}
LIGHT = {"text": "#23282C", "ground": "#FBFAF7", "quiet": "#5F676E", "panel": "#F1EFEA", **ON_LIGHT}
"""The colours of the page by name."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: var(--text); background: var(--ground);
  font: 1rem/1.6 system-ui, sans-serif; }}
h1 {{ font-size: 1.4rem; margin-bottom: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 1rem; margin: 2rem 0 .3rem; }}
small, .quiet, figcaption {{ color: var(--quiet); font-weight: normal; font-size: .85rem; }}
figure {{ margin: .5rem 0; }}
img {{ max-width: 100%; max-height: 24rem; width: auto; height: auto; }}
.tokens, .said {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.said {{ background: var(--panel); padding: .5rem .8rem; border-radius: .3rem; }}
.text {{ display: none; overflow-wrap: anywhere; }}
pre, code {{ background: var(--panel); font-size: .9rem; }}
pre {{ padding: .6rem; overflow-x: auto; }}
a {{ color: inherit; }}
td, th {{ padding: .1rem .6rem; border: 1px solid var(--quiet); }}
table {{ border-collapse: collapse; }}
.accepted {{ color: var(--accepted); text-decoration: underline; text-underline-offset: .2em; }}
.corrected {{ color: var(--corrected); font-weight: bold; }}
.bonus {{ color: var(--bonus); font-weight: bold; text-decoration: underline; text-underline-offset: .2em; }}
s {{ color: var(--quiet); display: none; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .85rem; }}
dd {{ margin: 0; color: var(--quiet); }}
#guesses:checked ~ main s {{ display: inline; }}
#text:checked ~ main .tokens, #text:checked ~ main dl {{ display: none; }}
#text:checked ~ main .text {{ display: block; }}
"""


def to_html(documents: Sequence[ConversationDocument]) -> str:
    """One page with the path to the current leaf of each conversation."""
    images = PageImages()
    title = documents[0].heading.title if len(documents) == 1 else f"{len(documents)} conversations"
    views = (("tokens", "tokens", " checked"), ("guesses", "tokens and rejected guesses", ""), ("text", "text", ""))
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">',
            f"<title>{_line(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *(
                f'<input type="radio" name="view" id="{view}"{checked}> <label for="{view}">{label}</label>'
                for view, label, checked in views
            ),
            f"<main>\n{_legend()}",
            *(part for document in documents for part in _conversation(document, images)),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _legend() -> str:
    rows = [
        f'<dt><span class="{origin}">{origin}</span></dt><dd>{meaning}</dd>' for origin, meaning in MEANINGS.items()
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _conversation(document: ConversationDocument, images: PageImages) -> Iterator[str]:
    heading = document.heading
    yield f"<article>\n<h1>{_line(heading.title)}</h1>"
    yield f'<p class="quiet">{heading.created:%Y-%m-%d %H:%M} UTC</p>'
    if heading.system:
        yield f'<h2>System</h2>\n<div class="said">{_text(heading.system)}</div>'
    by_id = {message.node.id: message for message in document.messages}
    tree = document.tree
    recap = recap_of(tree, tree.leaf)
    for node in tree.path():
        yield from _message(by_id[node.id], images)
        if recap is not None and node.id == recap.node.parent:
            summary = _text(recap.node.content.strip())
            yield f'<h2>Summary <small>read in place of all above</small></h2>\n<div class="said">{summary}</div>'
    yield "</article>"


def _message(message: MessageDocument, images: PageImages) -> Iterator[str]:
    content, call = message.node.content, message.node.call
    if call is not None:
        yield f"<details><summary>Tool {_line(call.name)} <small>{_line(call.arguments)}</small></summary>"
        yield f'<div class="said">{_text(content.strip())}</div></details>'
        return
    if message.node.role is not Role.ASSISTANT:
        yield f'<h2>You</h2>\n<div class="said">{_asked(content, images)}</div>'
        return
    pair = message.parts[-1].about.pair_id if message.parts else None
    yield f"<h2>Reply{f' <small>{_line(pair)}</small>' if pair else ''}</h2>"
    yield f'<div class="tokens">{"".join(_tokens(message))}</div>'
    yield f'<div class="text">{_rendered(message.node.said)}</div>'
    if message.parts:
        figures = sentence(StoredReply(content, message.parts).to_reply().timings)
        yield f'<p class="quiet">{_line(figures)}</p>'


def _asked(content: str, images: PageImages) -> str:
    parts = split_images(content.strip())
    return "".join(_text(part) if isinstance(part, str) else images.element(*part) for part in parts)


def _tokens(message: MessageDocument) -> Iterator[str]:
    """The text with its tokens marked; text that was edited or imported has none."""
    said, end = message.node.said, 0
    for part in message.parts:
        yield _text(said[end : part.begin])
        end = part.begin
        for round_ in part.rounds:
            yield from _round(round_, len(said) - end)
            end += sum(len(token.text) for token in round_.tokens)
    yield _text(said[end:])


def _round(round_: Round, said_n: int) -> Iterator[str]:
    """The tokens of the first characters of a round; what was rejected comes before the token that replaced it."""
    for token in round_.tokens:
        if token.text and said_n <= 0:
            return
        text, said_n = _text(token.text[:said_n]), said_n - len(token.text)
        if token.origin is Origin.CORRECTED:
            yield from (f"<s>{_text(proposal.text)}</s>" for proposal in round_.rejected)
        if token.origin is Origin.PLAIN or not text:
            yield text
            continue
        by = f", by {token.drafter}" if token.drafter else ""
        yield f'<span class="{token.origin}" title="{_line(f"{token.origin}{by}")}">{text}</span>'


def _rendered(content: str) -> str:
    """Markdown as HTML, with the thoughts before it folded."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    thoughts = Reasoning.find(content)
    answer = str(markdown.render(visible(content[thoughts.end :] if thoughts else content)))
    if thoughts is None:
        return answer
    return f'<details><summary>Thoughts</summary><div class="said">{_text(thoughts.text)}</div></details>{answer}'


def _text(text: str) -> str:
    return escape(visible(text))


def _line(text: str) -> str:
    return escape(visible_line(text))
