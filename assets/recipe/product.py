"""The slash commands, keys and shell commands of LocalSpec, as topics: `facts.json` has their names, this module what they do.

The facts are read from LocalSpec's own tables and committed, so that a test notices when the program and the weights part:

    python assets/recipe/product.py      writes facts.json anew, in an environment that has LocalSpec
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import words
from phrasing import expand, question
from topics import Topic
from turns import Style, Turn
from wordings import WORDINGS

FACTS = Path(__file__).with_name("facts.json")
MORE_KEYS = "F1 or `/help` lists all keys and commands, and Ctrl+P searches them."
MORE_SHELL = "`localspec --help` lists all commands, and `localspec COMMAND --help` the options of one."
UNKNOWN_COMMAND = "There is no such command. `/help` or F1 lists those there are."
UNKNOWN_KEY = "No command of the chat is on that key. F1 lists the keys there are."
SAME_AS = {
    "send": "send",
    "newline": "newline",
    "stop": "stop",
    "view": "token_view",
    "fast": "full_speed",
    "new": "new_conversation",
    "palette": "palette",
    "help": "help",
    "quit": "quit",
}
"""Commands of the chat that `topics.py` explains, with the topic's key."""


@dataclass(frozen=True)
class Action:
    """One command of the chat: what it does in the third person, what else there is to say, and how people ask for it."""

    id: str
    does: str
    extra: str = ""
    goals: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


ACTIONS = (
    Action(
        "earlier",
        "brings back the message you sent before",
        "Press it in the first line of the prompt.",
        (
            "[get|bring] back [the|my] [last|previous] [message|question|prompt]",
            "[reuse|repeat|send again] my [last|previous|earlier] [message|question] without typing it",
            "[go|step] back through [what I typed|my messages|my questions|the prompt history]",
        ),
        (
            "[is there|does it have] a [prompt|input|message] history",
            "I want the [message|text] I sent before [in the prompt|] again",
        ),
    ),
    Action(
        "later",
        "brings the next of the messages you sent",
        "Press it in the last line of the prompt; after the newest comes what you were writing.",
        (
            "[go|step] forward [again |]in [the prompt history|my messages]",
            "[get|come] back to what I was [typing|writing] [after looking at old messages|]",
        ),
    ),
    Action(
        "complete",
        "takes the highlighted row of the list",
        "On the mark of a long paste it unfolds the text.",
        (
            "[complete|finish] a [command|file name|word]",
            "take the [highlighted|chosen|selected] [row|suggestion|entry]",
            "[unfold|see] [a|the] long [paste|pasted text]",
            "autocomplete",
        ),
        ("is there [auto|tab |]completion",),
    ),
    Action(
        "attach",
        "attaches a file or a folder to your message",
        "Type @ and a part of the name, or `/attach` and the path.",
        (
            "[attach|add|upload|include|give you|send|show you] [a file|a folder|a document|a text file|some files|source code]",
            "[ask|talk] about a [file|document|folder]",
            "put [a file|a document] into [the chat|my message|my question|the prompt]",
            "let you read [a file|my file|my notes]",
        ),
        (
            "can I [attach|upload|add] [files|a file|documents|folders]",
            "[attachments|file upload|attach a file]",
            "can you read [my files|a file|a pdf of mine]",
        ),
    ),
    Action(
        "recall",
        "searches the messages you sent before",
        "",
        (
            "[search|look through] [my old|the|my sent|my earlier] [messages|prompts|questions|inputs]",
            "find a [message|question|prompt] I [sent|typed|asked] [before|last week|long ago]",
        ),
        ("is there a [reverse search|ctrl+r|history search] like in bash",),
    ),
    Action(
        "editor",
        "opens your own editor for the message",
        "It is the one in $VISUAL or $EDITOR.",
        (
            "[write|edit|compose|type] [the|my|a] [message|prompt|question] in [vim|my editor|emacs|nano|an editor|an external editor]",
            "[use|open] [my own|an external|my] editor",
            "[open|start] [vim|nano|emacs] for a long [message|prompt]",
        ),
        ("can I [use|write in] [vim|emacs|my editor]",),
    ),
    Action(
        "marks",
        "changes how tokens are marked",
        "They can be marked subtly, by origin, drafter, heat or rounds, or not at all.",
        (
            "[change|switch|choose] [how tokens are marked|the token marks|the marks|the way tokens are coloured|the colouring]",
            "mark tokens by [drafter|heat|round|rounds|origin]",
            "see [which drafter guessed a token|the rounds in the text|heat colours]",
            "[remove|hide|get rid of] the marks [but stay in|in] the token view",
        ),
    ),
    Action(
        "ghosts",
        "shows rejected guesses for a moment, keeps them among the tokens, or hides them",
        "",
        (
            "[keep|hide|see|show] [the |][rejected guesses|ghosts|rejected tokens|wrong guesses]",
            "[turn off|switch off|get rid of] the [ghosts|struck-through words|rejected guesses]",
            "make the [ghosts|rejected tokens] stay",
        ),
    ),
    Action(
        "inspect",
        "opens the inspector",
        "It shows the target's and the draft's probabilities of each token.",
        (
            "[see|inspect|look at|show|read] the [probabilities|logprobs|odds] [of a token|of the tokens|of each token|]",
            "[inspect|look into|examine] [a token|the tokens|a reply]",
            "[open|use] the [token |]inspector",
            "see [what else it could have said|the alternatives of a token|what the draft thought|what the target thought]",
        ),
        (
            "what is the inspector",
            "where [is|do I find] the [inspector|probabilities]",
            "how [likely|sure|certain] was [that|this|a|each] token",
        ),
    ),
    Action(
        "race",
        "answers the latest message twice, with guesses and without, and compares them",
        "You can also name a message: `/race` and the text.",
        (
            "[compare|race] [with and without guesses|guessing against not guessing|speculation and plain]",
            "[see|show] [how much faster it is with guesses|the difference guessing makes|guessing and not guessing side by side]",
            "run a race",
            "answer [a question|the message] twice, with and without [guesses|speculation|the draft]",
        ),
        ("what is [a|the] race", "is there a [race|comparison with and without guesses]"),
    ),
    Action(
        "compare",
        "answers the latest message with each of the pairs you name",
        "For example `/compare` and the ids of two pairs; one of the replies can be kept.",
        (
            "[compare|try] [two models|two pairs|several pairs|models|pairs|different models] [side by side|on one question|with each other|]",
            "[put|ask] the same question to [two models|several models|two pairs|another pair as well]",
            "[see|find out] which [model|pair] [answers better|gives the better reply|I like better]",
            "let [two pairs|several models] answer [the same|one] [question|message]",
        ),
        (
            "how does another [model|pair] answer [the same|this] question",
            "is there a comparison of [models|pairs]",
        ),
    ),
    Action(
        "previous",
        "chooses a turn, which keys and commands then act on",
        "Esc goes back to the prompt.",
        (
            "[choose|select|pick|mark] [a turn|an earlier turn|an earlier reply|an earlier message|a message]",
            "[go|move] up to [the|an] [earlier|previous] [turn|reply|question|message]",
        ),
    ),
    Action(
        "next",
        "chooses the next turn",
        "Past the last one it chooses none.",
        (
            "[choose|select|go to|move to] the [next|following] turn",
            "[go|move] down [a turn|one turn|to the turn below]",
        ),
    ),
    Action(
        "again",
        "answers the chosen question again, or the last",
        "The first reply stays as another version.",
        (
            "[regenerate|redo|retry|reroll|repeat] [a reply|the reply|the answer|the last reply|that answer]",
            "[get|have|ask for] [another|a new|a different|a second] [reply|answer|try] [to the same question|]",
            "ask [the same question|the same thing|it] [again|anew|once more]",
            "have a question answered [again|anew|a second time]",
        ),
        (
            "[regenerate|retry|try again button|reroll]",
            "I don't like [the|this|your] [reply|answer], can I get [another|a different] one",
        ),
    ),
    Action(
        "edit",
        "changes the chosen question and asks it again",
        "The first one stays as another version.",
        (
            "[edit|change|correct|fix|rewrite] [my|a|the last|an earlier|the chosen] [question|message|prompt]",
            "[fix|correct] a typo in [my|a] [question|message] [I have sent|after sending it|]",
            "[change|edit] what I asked",
        ),
        ("can I [edit|change] a [message|question] [after sending it|I sent|that is sent]",),
    ),
    Action(
        "rewrite",
        "lets you change the chosen reply by hand",
        "It becomes another version.",
        (
            "[edit|change|rewrite|correct|fix] [a reply|the reply|the answer|your reply|your answer|what you said|the chosen reply] [by hand|myself|]",
            "put [other words|words] into your mouth",
        ),
    ),
    Action(
        "continue",
        "goes on with a reply that was stopped, cut off or edited",
        "",
        (
            "[continue|go on with|resume|finish] [a|the] [stopped|cut off|interrupted|unfinished|half] [reply|answer]",
            "let [a reply|the answer|you] go on [after I stopped it|where it stopped]",
            "make [it|the reply] longer when it was cut off",
        ),
        (
            "the reply was cut off, [how do I|can I] [continue it|get the rest|go on]",
            "I stopped the reply, can it go on",
        ),
    ),
    Action(
        "version-before",
        "shows the previous version of the chosen turn",
        "",
        (
            "[see|show|go back to|read] the [previous|earlier|first|old|other] version [of a reply|of a turn|of a question|]",
            "get the [first|old|earlier] reply back after asking again",
        ),
    ),
    Action(
        "version-after",
        "shows the next version of the chosen turn",
        "",
        ("[see|show|go to|read] the [next|newer|later] version [of a reply|of a turn|]",),
    ),
    Action(
        "copy",
        "copies the chosen reply, or the last",
        "",
        (
            "copy [a reply|the reply|the answer|your answer|the last reply|the last answer|your text|the text][ to the clipboard|]",
            "get [the reply|the answer] [to|into|on] the clipboard",
        ),
        ("[copy|clipboard]", "can I copy [the text|your answer|a reply]"),
    ),
    Action(
        "code",
        "copies the last block of code in the reply",
        "Once more copies the one before.",
        (
            "copy [the|a|just the|only the] [code|block of code|code block|snippet|function]",
            "get [the code|only the code] [to|into] the clipboard",
        ),
    ),
    Action(
        "block-before",
        "goes to the previous block of code",
        "",
        ("[go|jump] to the [previous|last] [block of code|code block|snippet]", "[find|jump to] code further up"),
    ),
    Action(
        "block-after",
        "goes to the next block of code",
        "",
        ("[go|jump] to the next [block of code|code block|snippet]",),
    ),
    Action(
        "links",
        "lists the links of the chosen reply, or the last",
        "You can copy one or open it in the browser.",
        (
            "[open|copy|list|see|follow|click] [a link|the links|links|the urls|a url] [in a reply|of a reply|in the answer|]",
        ),
    ),
    Action(
        "thoughts",
        "shows the thoughts before the answer, or folds them away",
        "",
        (
            "[see|show|hide|fold|read|unfold] [the thoughts|the thinking|the reasoning|the text of a summary|what a model thought]",
        ),
    ),
    Action(
        "passages",
        "shows the files and passages that the model read with the chosen question, or folds them away",
        "",
        (
            "[see|show|read|look at] [what the model read of my file|the passages it found|which passages it used|the sources|the attached text]",
            "[fold|hide|close] the [passages|attached text|sources]",
            "[check|find out] which [part|parts|pages] of [my file|the document|the pdf] [it read|were used]",
        ),
        ("[which|what] [part|passage] of my file did [you|it|the model] [use|read|see]", "[sources|passages]"),
    ),
    Action(
        "delete",
        "deletes the chosen turn",
        "`/undo` brings it back.",
        (
            "[delete|remove|erase|throw away] [a turn|a message|a reply|a question|the last turn|one message|this turn|that answer]",
        ),
    ),
    Action(
        "undo",
        "brings back what was deleted or summarised last",
        "",
        (
            "undo[| that| it| a deletion| something| my last action]",
            "[bring|get] back [what I deleted|a deleted turn|a deleted message|a deleted conversation|the turn I removed|a summarised text]",
            "[restore|recover|rescue] [a deleted turn|what I deleted|the deleted message|a turn]",
            "take back [a deletion|a summary|what I deleted]",
        ),
        (
            "[undo|is there an undo]",
            "I deleted [something|a turn|the wrong message][ by accident| by mistake|], [help|how do I get it back|can I undo it]",
            "I removed the wrong [turn|reply|message]",
        ),
    ),
    Action(
        "compact",
        "summarises all but the last 2 turns, to make room",
        "Name another number if you like; `/undo` brings the turns back.",
        (
            "[summarise|compact|shorten|condense|compress|shrink] [the conversation|this conversation|a long chat|the chat|old turns|the context]",
            "[make|get|free] [room|space|more room] [in the context|in the conversation|]",
            "go on when the [context|conversation] is [full|too long]",
        ),
        ("the context is full, [what now|what can I do]", "[compact|compaction], what is that"),
    ),
    Action(
        "conversations",
        "shows all conversations",
        "There you can open, rename, pin, file, archive or delete some.",
        (
            "[see|show|list|find|open|browse] [all |][my |][old |earlier |past |previous |]conversations",
            "[open|go back to|find|return to|continue] [an old|an earlier|yesterday's|a previous|another|my last] [chat|conversation]",
            "[delete|pin] [a|an old|this] conversation",
            "[switch|change] [to another conversation|conversations|between conversations|chats]",
        ),
        (
            "where are my [old|earlier|past|saved] [chats|conversations]",
            "[chat|conversation] [history|list]",
            "are my [chats|conversations] [saved|kept|stored]",
        ),
    ),
    Action(
        "search",
        "searches all conversations",
        "",
        (
            "search [all |my |][conversations|chats|old chats|the history|everything]",
            "find [a word|something|a text|an answer|words] in [all|my|old|past|earlier] [conversations|chats]",
            "look for [a word|something] I [said|wrote|read] [in another chat|in an old conversation]",
        ),
        ("is there a [search|full text search|search function]",),
    ),
    Action(
        "rename",
        "gives this conversation a title",
        "",
        (
            "[rename|name|title|retitle] [this|a|the] [conversation|chat]",
            "[give|change] [this conversation|the chat|a conversation] [a title|a name|another name|a new title]",
            "[change|set] the [title|name] of [this|the|a] [conversation|chat]",
        ),
    ),
    Action(
        "folder",
        "files this conversation in a folder, or gives it tags",
        "For example `/folder physics #exam`; `/folder none` takes it out.",
        (
            "[put|file|move|sort] [this conversation|this chat|a conversation|a chat] [in|into] [a folder|another folder]",
            "[tag|label] [this conversation|this chat|a conversation|a chat]",
            "[give|add] [a tag|tags|labels] to [this conversation|a chat|the chat]",
            "[organise|sort|order] my [conversations|chats][ in folders| by subject|]",
            "take [this conversation|a chat] out of [a|its|the] folder",
        ),
        ("are there [folders|tags|labels] for [conversations|chats]", "[folders|tags|labels]"),
    ),
    Action(
        "archive",
        "puts this conversation into the archive, at the end of the list, or back",
        "",
        (
            "[archive|put away] [this conversation|this chat|the conversation|an old chat]",
            "[hide|move] [this chat|a conversation] [from the list without deleting it|to the archive|into the archive]",
            "[get|take|bring] [a conversation|this chat] [back from|out of] the archive",
            "[unarchive|restore from the archive] [this|a] [chat|conversation]",
        ),
        ("is there an archive [for old chats|]", "what is the archive"),
    ),
    Action(
        "export",
        "writes this conversation to a Markdown file",
        "`/export html` has the token colours, `/export json` every version and `/export ndjson` every token.",
        (
            "[export|save|store|write out|dump|download] [a conversation|this conversation|the conversation|the chat|this chat|my chat|our talk]",
            "[export|save|write] [it|this|the chat|a conversation|the conversation] [to|as|into] [a file|markdown|a markdown file|json|a text file|ndjson|disk]",
            "get [this chat|the conversation|our conversation] [as|into] a [file|document|text file|markdown file]",
            "[keep|save] a copy of [this|our] [chat|conversation]",
        ),
        (
            "[export|save|save chat|export chat]",
            "can I [export|save] [this|the conversation|my chats|a chat]",
            "is there an export",
            "which key exports [a conversation|the chat|this]",
        ),
    ),
    Action(
        "import",
        "imports conversations from a file of LocalSpec, ChatGPT or LM Studio",
        "Type `/import` and the file; `/import stop` ends it.",
        (
            "import [conversations|chats|my chats|a conversation|my chatgpt chats|my chatgpt history|conversations from lm studio|an export]",
            "[bring|load|get|move] [my |][chatgpt|lm studio|old|exported] [chats|conversations|history] [in|into localspec|over|here]",
            "[read|load] [a json file|an export|conversations] [back |][in|from chatgpt]",
        ),
    ),
    Action(
        "pairs",
        "shows all pairs: what fits here, to download or to use",
        "`/pairs ID` changes to one.",
        (
            "[change|switch|choose|pick|load] [the |to another |another |a different |a real |]pair",
            "[change|switch|choose|load] [the |to another |another |a different |]model [in the chat|here|]",
            "[download|get|fetch] [a pair|another model|a real pair|a model|models] [in the chat|here|in the app|]",
            "see [the pairs|which pairs there are|which pairs fit|all pairs|what fits here|what models fit this machine]",
        ),
    ),
    Action(
        "stats",
        "shows the figures of all replies",
        "They tell acceptance, times and speed by pair, drafter or day, and what became worse.",
        (
            "[see|show|read|get|look at] [the figures|statistics|the stats|figures of all replies|my statistics|how well speculation worked]",
            "see [the acceptance|the speed|how fast it was] [by pair|by day|of all replies|over time|by drafter]",
        ),
        ("[stats|statistics|figures]", "are there [statistics|stats]"),
    ),
    Action(
        "accept",
        "accepts the offer: a download, or another pair",
        "",
        (
            "[accept|take|say yes to|agree to] [the|an|that] [offer|suggestion|download offer]",
            "[start|accept] the [offered|suggested|recommended] download",
        ),
        ("it [offers|suggests] [a download|another pair|a better pair], how do I [say yes|accept|take it]",),
    ),
    Action(
        "theme",
        "chooses the colours of the app",
        "For example `/theme light` or `/theme nord`; without a name it lists them.",
        (
            "[change|choose|switch|set] [the |][theme|colours of the app|colour scheme|look|app colours]",
            "[get|have|use|switch to] [a |]light [theme|mode|background|colours]",
            "[get|have|use|switch to] [a |]dark [theme|mode|background|colours]",
            "[use|get] high contrast [colours|]",
        ),
        ("[which|what] [themes|colour schemes] are there", "is there a [dark|light] [mode|theme]"),
    ),
    Action(
        "settings",
        "shows all settings, and changes them",
        "`/settings` and a word shows those about it.",
        (
            "[open|change|see|show|find|get to] [the |my |all |]settings",
            "[configure|set up|customise|adjust] [localspec|it|the app|things]",
            "[change|see] [the |][options|preferences|configuration] [in the chat|of the app|]",
        ),
        ("where are the [settings|options|preferences]", "[settings|preferences|configuration]"),
    ),
    Action(
        "persona",
        "lets a persona speak in this conversation",
        "Type `/persona` and its name; without a name it lists them, and `/persona edit` and a name writes one.",
        (
            "[use|choose|set|change|switch] [a|the|another] persona",
            "[give|set] [you|the model] [a persona|a role|a character|a personality]",
            "let [you|the model] [speak|talk] as [a persona|a pirate|somebody else]",
        ),
        ("what [is|are] [a persona|personas]", "[which|what] personas are there"),
    ),
    Action(
        "prompt",
        "takes a prompt of your own and asks for what is to be filled in",
        "Type `/prompt` and its name; without a name it lists them, and `/prompt edit` and a name writes one.",
        (
            "[use|take|send|insert] [a prompt of my own|a saved prompt|a prompt template|one of my prompts|a template]",
            "[save|store|keep|write] a [prompt|question] [I use often|for later|to use again|as a template]",
            "[change|edit|list|see] my [saved prompts|prompts|templates|prompt templates]",
            "[fill in|use] a [form|template] [for a question|]",
        ),
        (
            "are there [prompt templates|templates|saved prompts|snippets]",
            "[prompt templates|prompt library|templates]",
        ),
    ),
    Action(
        "set",
        "sets something for this conversation alone",
        "For example `/set temperature 0.2`, or `/set pair depth 6` for the pair; without a name it shows what is set.",
        (
            "[set|change] [something|a setting|the temperature|an option] for [this conversation|this chat|this conversation only|this conversation alone|one chat]",
            "[set|change] the temperature [in the chat|while chatting|without leaving|for this conversation]",
            "[set|change] the depth [in the chat|while chatting|without leaving|of the pair]",
        ),
    ),
    Action(
        "unset",
        "removes a setting of this conversation, so that the settings file decides",
        "Type `/unset` and its name, or `/unset all`.",
        (
            "[remove|take back|reset|clear|unset] [a setting|the setting|what I set|the settings] [of|for|in] this [conversation|chat]",
            "[undo|take back] a /set",
        ),
    ),
    Action(
        "schema",
        "holds the replies of this conversation to the JSON Schema in a file",
        "`/schema off` ends that.",
        (
            "[use|set|give|load] a [json schema|schema]",
            "[force|hold|bind|make] [the replies|replies|you|the model] [to|follow|match] a [json schema|schema]",
            "[get|have|force] [replies|answers] [in|as] [a fixed|strict|valid] json [format|form|]",
        ),
    ),
    Action(
        "tools",
        "lists the tools that the model may call, and switches them on and off",
        "`/tools` and a name switches that one.",
        (
            "[switch|turn] [tools|a tool|the tools|an mcp server] [on|off|on or off]",
            "[allow|forbid|enable|disable|give the model] [tools|a tool|the calculator|mcp tools|function calls]",
            "[see|list|show] [the tools|which tools there are|what the model may call|my mcp servers]",
            "let [the model|it] [use a calculator|know the time|read my files|call tools|use tools]",
        ),
        (
            "[which|what] tools [are there|may the model call|are on]",
            "is there [an agent mode|mcp|tool use|a tool list]",
        ),
    ),
    Action(
        "calls",
        "lets you decide about a call that waits, or shows what the calls of the reply returned",
        "",
        (
            "[allow|approve|confirm|refuse|reject|answer] [a call|a tool call|the waiting call|a call that waits]",
            "[see|show|read|unfold] [what a tool returned|the result of a call|the results of the tools|what came of a tool call]",
        ),
        (
            "the model wants to call a tool, [how do I allow it|what now|where do I say yes]",
            "what did the tool [return|say|answer]",
        ),
    ),
    Action(
        "read",
        "leaves the prompt, so that single keys move through the conversation",
        "The key map has to have some, as `vim` does.",
        ("leave the prompt", "[get|move] the [focus|cursor] out of the prompt", "use single keys in the conversation"),
    ),
    Action(
        "write",
        "goes back to the prompt",
        "",
        ("[go|get|come|move] back to the [prompt|input|input line|message field]", "[focus|reach] the prompt again"),
    ),
    Action(
        "older",
        "scrolls back",
        "The view stays there while the reply goes on.",
        (
            "scroll [up|back]",
            "[see|read] [older|earlier] [text|messages|parts of the chat|lines]",
            "[go|move] up in the text",
        ),
    ),
    Action(
        "newer",
        "scrolls forward",
        "",
        ("scroll [down|forward]", "[go|move] down in the text", "[see|read] [newer|later] [text|lines]"),
    ),
    Action(
        "latest",
        "goes to the newest text and follows it",
        "",
        (
            "[go|jump|scroll|get] to the [end|bottom|newest text|latest text|latest message]",
            "follow the reply again",
            "get [all the way |]down",
        ),
    ),
    Action(
        "tour",
        "begins the tour, a minute of things to try, or goes on to its next step",
        "Esc ends it.",
        (
            "[start|begin|take|see|do|repeat|continue] [the|a|your] [guided tour|tour of the app|tour again|tutorial|app's tour]",
            "[be shown|get shown|show me] around",
            "[leave|end|stop|skip|quit] the tour",
        ),
        ("is there a [tutorial|guided tour|tour for beginners]", "what is the tour"),
    ),
)


@dataclass(frozen=True)
class Shell:
    """A command or option on the command line: its words, what it does, and how people ask for it."""

    name: str
    answer: str
    extra: str = ""
    goals: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


SHELL = (
    Shell(
        "localspec bench",
        "`localspec bench` measures whether speculation pays on this machine.",
        "Name the pair with `--pair ID`.",
        (
            "[measure|benchmark|test|find out|check] [whether speculation pays|if guessing pays|how much faster guessing is|the speed of a pair|the speed-up]",
            "[run|do|make|start] a benchmark",
            "benchmark [a pair|my machine|my models|localspec]",
        ),
    ),
    Shell(
        "localspec chat",
        "`localspec chat` opens the chat, the same as `localspec` without a command.",
        "With `--plain` it chats line by line in plain text, and `--continue` goes on with the last conversation.",
        (
            "chat [line by line|in plain text|without the full screen|with a screen reader]",
            "[continue|go on with|reopen] the last conversation from the [shell|command line]",
        ),
    ),
    Shell(
        "localspec config",
        "`localspec config` shows, changes and checks the settings.",
        "`localspec config show --all` lists every setting, `localspec config edit` opens the file in your editor.",
        (
            "[see|change|list|check|edit|show] [the |my |all |]settings [from the shell|on the command line|in the terminal|from a script]",
            "[find|edit|open] the [settings|configuration|config] file",
        ),
        ("where is the [settings|config|configuration] file",),
    ),
    Shell(
        "localspec config set",
        "`localspec config set` sets something in the settings file.",
        "",
        ("set a setting [from the shell|on the command line|for good]",),
    ),
    Shell("localspec config get", "`localspec config get` tells what a setting is."),
    Shell(
        "localspec config show",
        "`localspec config show` lists the settings that are set.",
        "With `--all` it lists every setting, its value and where it comes from.",
    ),
    Shell("localspec config edit", "`localspec config edit` opens the settings file in your editor."),
    Shell("localspec config path", "`localspec config path` tells where the settings file is."),
    Shell("localspec config check", "`localspec config check` looks for mistakes in the settings file."),
    Shell("localspec config unset", "`localspec config unset` takes a setting out of the file."),
    Shell(
        "localspec doctor",
        "`localspec doctor` checks whether everything works, and what would make it faster.",
        "",
        (
            "[check|test|see|find out] [whether|if] [everything works|it all works|localspec works|my installation is fine|the installation is ok|something is broken]",
            "[find|see] what would make [it|localspec] faster [on this machine|here|]",
            "[diagnose|troubleshoot|debug] [problems|a problem|my installation|localspec|it]",
        ),
        (
            "something [is wrong|is broken|does not work] with [my installation|localspec], what [can I run|do I do]",
            "is there a [self test|health check|diagnosis|doctor command]",
        ),
    ),
    Shell(
        "localspec history",
        "`localspec history` finds, reads, exports and imports conversations.",
        'For example `localspec history list`, or `localspec history search "alphabet"`.',
        (
            "[handle|manage|work with|get at] [conversations|my chats|old chats] [from the shell|on the command line|in the terminal]",
        ),
    ),
    Shell(
        "localspec history list",
        "`localspec history list` lists the conversations: pinned ones first, then the latest.",
        "",
        ("list [my |the |all |][conversations|chats] [from the shell|on the command line|in the terminal]",),
    ),
    Shell(
        "localspec history search",
        "`localspec history search` finds words in all conversations.",
        "",
        ("search [my |the |all |][conversations|chats] [from the shell|on the command line|in the terminal]",),
    ),
    Shell(
        "localspec history show",
        "`localspec history show` shows a conversation.",
        "",
        ("[read|print|show] a conversation [in the shell|on the command line|in the terminal]",),
    ),
    Shell(
        "localspec history export",
        "`localspec history export` writes conversations as Markdown, JSON or NDJSON.",
        "",
        ("export [conversations|my chats|all chats|a conversation] [from the shell|on the command line|in a script]",),
    ),
    Shell(
        "localspec history import",
        "`localspec history import` reads conversations from LocalSpec, ChatGPT or LM Studio.",
        "",
        ("import [conversations|my chats|chatgpt chats] [from the shell|on the command line|in a script]",),
    ),
    Shell(
        "localspec history rm",
        "`localspec history rm` deletes conversations; `localspec history restore` brings them back.",
        "",
        (
            "[delete|remove] [conversations|a conversation|old chats|a chat] [from the shell|on the command line|in a script]",
        ),
    ),
    Shell(
        "localspec history restore",
        "`localspec history restore` brings deleted conversations back.",
        "",
        ("[restore|bring back] deleted [conversations|chats] [from the shell|on the command line|]",),
    ),
    Shell("localspec history rename", "`localspec history rename` gives a conversation a title."),
    Shell(
        "localspec history pin",
        "`localspec history pin` keeps conversations on top of the list.",
        "",
        ("[pin|keep] a conversation [on top|at the top] [of the list|from the shell|]",),
    ),
    Shell(
        "localspec history archive",
        "`localspec history archive ID` puts conversations into the archive, and with `--off` takes them out.",
        "",
        ("archive [conversations|old chats|a conversation] [from the shell|on the command line|in a script]",),
    ),
    Shell(
        "localspec history file",
        "`localspec history file ID --folder NAME` puts conversations into a folder; `--tag` gives them a tag.",
        "",
        ("[file|tag|sort] [conversations|chats] [from the shell|on the command line|in a script]",),
    ),
    Shell(
        "localspec metrics",
        "`localspec metrics` writes figures for Prometheus, or serves them.",
        "",
        (
            "[get|send|export|serve] [metrics|figures] [to|for] [prometheus|grafana|monitoring]",
            "monitor [localspec|it] with [prometheus|grafana]",
        ),
    ),
    Shell(
        "localspec pairs pull",
        "`localspec pairs pull ID` downloads a pair.",
        "An interrupted download goes on where it stopped.",
        (
            "[download|fetch|get|pull] a pair [from the shell|on the command line|in the terminal|]",
            "[continue|resume] an interrupted download",
        ),
        ("how do I [download|get] the models of a pair",),
    ),
    Shell(
        "localspec pairs check",
        "`localspec pairs check` tells whether one model can draft for another.",
        "Give it the two files.",
        (
            "[check|test|find out|see] [whether|if] [two models|a draft and a target|two files|a model and a head|these files] [fit|go|belong|work] together",
            "[check|test|find out] [whether|if] one model can draft for another",
        ),
    ),
    Shell(
        "localspec pairs scan",
        "`localspec pairs scan` finds models that other programs have downloaded already.",
        "",
        (
            "[find|use|reuse|look for] [models|gguf files] [that are here already|from ollama|from lm studio|on my disk|other programs have downloaded|I have already]",
        ),
    ),
    Shell(
        "localspec pairs add",
        "`localspec pairs add` adds a pair of your own.",
        "",
        ("[add|register|save|keep] [a pair of my own|my own pair|my two files as a pair]",),
    ),
    Shell(
        "localspec pairs draft",
        "`localspec pairs draft TARGET` finds what can draft for a model, the best first.",
        "It knows smaller models of the family, and heads made for it.",
        (
            "[find|get|look for] a [draft|head|good draft|fitting draft] for [my|a|this] [model|target|gguf file]",
            "[find out|see|know] [what|which model] can draft for [a model|my model|my target]",
        ),
        ("which draft [goes with|fits|suits] my model",),
    ),
    Shell(
        "localspec pairs search",
        "`localspec pairs search WORDS` searches the Hub for models in GGUF files.",
        "`localspec pairs show` then lists the files of one of them.",
        (
            "[search|look through] [the hub|hugging face] [for models|for gguf files|]",
            "find [a model|models|gguf files] on [the hub|hugging face]",
        ),
    ),
    Shell(
        "localspec pairs show",
        "`localspec pairs show OWNER/NAME` lists the GGUF files of a repository, which of them fit here, and the one to take.",
        "",
        (
            "see [the files|the gguf files|which quantisations there are] [of|in] a [repository|repo|model on the hub]",
            "[know|see|find out] which [file|quantisation] of a [repository|model] [fits here|to take]",
        ),
    ),
    Shell(
        "localspec pairs info",
        "`localspec pairs info ID` shows all that is known about a pair.",
        "",
        ("[see|read|get] [details|everything|all that is known] [about|of] a pair",),
    ),
    Shell(
        "localspec pairs rm",
        "`localspec pairs rm ID` removes a pair and the files only it uses.",
        "",
        ("[remove|delete|uninstall] [a pair|downloaded models|the files of a pair|a downloaded pair]",),
    ),
    Shell(
        "localspec pairs prune",
        "`localspec pairs prune` finds leftovers in the cache of the Hub, and removes them.",
        "",
        (
            "[clean up|remove|find] [leftovers|old downloads|the cache|the hub cache]",
            "free disk space [used by old models|]",
        ),
    ),
    Shell(
        "localspec serve",
        "`localspec serve` answers other programs over HTTP, as the APIs of OpenAI, Anthropic and Ollama do.",
        "The address is `http://127.0.0.1:8484` unless you say otherwise.",
        (
            "[use|reach] [my models|a pair|the model|my pair] from [another program|my editor|an app|python code|other programs] [over http|]",
            "[start|run|open|have] [a server|an api|an openai compatible server|an http server|an api server]",
            "[serve|offer] [a pair|my model|models] [over http|to other programs|in my network|]",
        ),
        (
            "[is there|does it have] [an api|an http api|a server|an openai compatible api|a rest api]",
            "does it [work with|speak] [the openai api|the ollama api|openai clients|coding agents]",
        ),
    ),
    Shell(
        "localspec batch",
        "`localspec batch FILE.jsonl` answers a file of requests in OpenAI's batch format, offline.",
        "Started again, it goes on where it was.",
        (
            "[answer|work through|process|run] [a file of requests|many requests|a thousand prompts|a jsonl file|a batch]",
            "have [many|hundreds of] [questions|prompts|requests] answered [overnight|at once|from a file]",
        ),
        ("is there [a batch mode|batch processing|a batch command]",),
    ),
    Shell(
        "localspec mcp",
        "`localspec mcp` lists, adds and tries MCP servers, which offer tools to the model.",
        "For example `localspec mcp add time uvx mcp-server-time`.",
        (
            "[use|manage|set up|list|connect] [mcp servers|an mcp server|mcp]",
            "give the model [tools of an mcp server|tools from other programs|more tools]",
        ),
        ("does it [support|speak|know] mcp", "what about mcp [servers|]"),
    ),
    Shell(
        "localspec mcp add",
        "`localspec mcp add NAME COMMAND` adds an MCP server to the settings file.",
        "With `--url` it is one at an address.",
        ("[add|register|install] [an mcp server|a tool server|a server of tools]",),
    ),
    Shell(
        "localspec mcp import",
        "`localspec mcp import FILE` adds the MCP servers of Claude Desktop, Claude Code, Cursor or VS Code.",
        "",
        (
            "[take over|import|reuse|copy] [the mcp servers|my mcp servers|the servers] [of|from] [claude desktop|cursor|vs code|claude code|another program]",
        ),
    ),
    Shell(
        "localspec mcp test",
        "`localspec mcp test NAME` starts an MCP server, lists its tools, and ends it.",
        "",
        ("[test|try|check] [an mcp server|whether an mcp server works|a tool server]",),
    ),
    Shell(
        "localspec serve-web",
        "`localspec serve-web` opens the chat in a tab of a browser.",
        "",
        (
            "[use|open|run|have|see] [it|the chat|localspec] in [a|the|my] [browser|web browser|browser tab|firefox|chrome]",
        ),
        ("is there a web [interface|version|ui]",),
    ),
    Shell(
        "localspec stats",
        "`localspec stats` shows how well speculation works, over all replies.",
        "For example `localspec stats --by subject`.",
        (
            "[see|print|get] [statistics|stats|figures] [from the shell|on the command line|in the terminal|of all replies in the shell]",
        ),
    ),
    Shell(
        "localspec trials",
        "`localspec trials` tries another draft, drafter or depth on a share of the replies.",
        "`localspec trials start` begins one, `localspec trials promote` makes its candidate what is set.",
        (
            "[try|test|compare] [another|a new|a different] [draft|drafter|depth] on [a share|some|a part] of [the|my] replies",
            "[run|start|begin] [a trial|an a/b test|an experiment]",
        ),
    ),
    Shell("localspec trials start", "`localspec trials start` begins a trial of another draft, drafter or depth."),
    Shell("localspec trials stop", "`localspec trials stop` ends a trial; what was set before stays."),
    Shell("localspec trials promote", "`localspec trials promote` ends a trial; its candidate becomes what is set."),
    Shell("localspec trials list", "`localspec trials list` lists the trials, the latest first."),
    Shell(
        "localspec pairs list",
        "`localspec pairs list` lists the pairs, what is on this machine, and what fits it.",
        "",
        (
            "[list|see|show] [the pairs|all pairs|which pairs fit this machine] [from the shell|on the command line|in the terminal]",
        ),
    ),
    Shell(
        "localspec verify",
        "`localspec verify` shows that speculation changes nothing but the speed.",
        "",
        (
            "[prove|verify|check|test|see for myself] that [speculation|guessing] changes nothing [but the speed|in the text|]",
            "[check|verify|test] that [it is|a pair is|the text is] lossless [on my machine|here|]",
        ),
    ),
    Shell(
        "--pair",
        "`--pair ID` uses that pair, as in `localspec --pair ID`.",
        "`localspec pairs list` shows the ids.",
        ("[start|open|run] [it|localspec] with [another|a certain|a downloaded|a given] pair",),
    ),
    Shell(
        "--target",
        "`--target FILE` uses that GGUF file as the target.",
        "`--draft FILE` names its draft.",
        ("[use|load|open] [one|a single] [gguf file|model|model file] [as the target|alone|without a draft]",),
    ),
    Shell(
        "--draft",
        "`--draft FILE` uses that GGUF file as the draft of `--target`: a smaller model, or an EAGLE-3, DFlash or MTP head.",
        "",
        ("[use|load|give it] [another|my own|a certain] draft", "[use|load] a head [file|] as the draft"),
    ),
    Shell(
        "--max-tokens",
        "`--max-tokens N` ends the reply after that many tokens.",
        "",
        (
            "[limit|cap|bound|restrict] [the length of a reply|how long a reply gets|the number of tokens|the reply]",
            "get [shorter replies|at most 100 tokens]",
        ),
    ),
    Shell(
        "--system",
        "`--system TEXT` puts that system prompt before the conversation.",
        "",
        ("[give|set|use|pass|add] [it |you |]a system prompt", "[set|change] the system prompt"),
    ),
    Shell(
        "--stop",
        "`--stop TEXT` ends the reply before that text.",
        "",
        (
            "end [the reply|replies] [at|before] a [certain |given |]text",
            "[use|set|give] [a stop sequence|stop words|stop strings]",
        ),
    ),
    Shell(
        "--explain",
        "`localspec run --explain` says of every round why it went as deep as it did.",
        "",
        ("[see|know|find out] why [so many tokens were proposed|a round was so deep|it chose that depth]",),
    ),
    Shell(
        "--preset",
        "`--preset` takes sampling settings for a purpose: precise, balanced or creative.",
        "",
        ("[use|choose|set] a [preset|sampling preset]", "make [it|replies] more [creative|precise|balanced]"),
    ),
    Shell(
        "--ctx",
        "`--ctx N` holds that many tokens of context.",
        "",
        ("[set|change|raise|lower|limit] the [context|context length|context size|context window] [of a pair|]",),
    ),
    Shell(
        "--threads",
        "`--threads N` computes with that many CPU threads.",
        "Without it LocalSpec measures what is best.",
        (
            "[set|limit|change|choose] the [number of threads|threads|cpu threads|cores it uses]",
            "use [fewer|more|all] [cores|threads]",
        ),
    ),
    Shell(
        "--gpu-layers",
        "`--gpu-layers N` puts that many layers on the GPU.",
        "By default all of them go there, where there is a GPU.",
        (
            "[put|move|offload] [layers|some layers|only a part] [on|to] the gpu",
            "[set|limit] the [gpu layers|layers on the gpu]",
        ),
    ),
    Shell(
        "--persona",
        "`--persona NAME` speaks as that persona.",
        "A persona is a system prompt in a text file of your own.",
        ("start [it|localspec|the chat] with a persona",),
    ),
    Shell(
        "--grammar",
        "`--grammar` holds the reply to a GBNF grammar.",
        "",
        ("[use|give|set] a [grammar|gbnf grammar]", "[hold|bind|force] [the reply|replies] to a grammar"),
    ),
    Shell(
        "--json-schema",
        "`--json-schema` holds the reply to a JSON Schema.",
        "",
        ("[give|pass|use] a [json schema|schema] [on the command line|in a script|with localspec run]",),
    ),
    Shell(
        "--marks",
        "`--marks` shows the origin of every token by colour or in brackets, also in plain text.",
        "",
        ("[see|show] the [origin|colours|origins] of tokens in [plain text|a script|localspec run]",),
    ),
    Shell(
        "--plain",
        "`localspec chat --plain` chats line by line in plain text.",
        "",
        ("[use|have|get] [the line mode|plain text|a plain chat]",),
    ),
    Shell(
        "--connect",
        "`localspec --connect ADDRESS` chats with a pair of a server: a LocalSpec elsewhere, or another with OpenAI's API.",
        "",
        (
            "[use|chat with|talk to] [a model|a pair|localspec] on [another machine|another computer|my server|a remote machine|a server]",
            "[connect|go] to [a server|a remote localspec|my server|an openai compatible server]",
        ),
        ("can the model run on [another machine|a server|my desktop] and the chat here",),
    ),
    Shell(
        "--rpc",
        "`--rpc HOST:PORT` also computes on the devices of that RPC server.",
        "Nothing protects the connection, so use it only in a private network or through a tunnel.",
        (
            "[spread|split|share|divide] a model [over|across|between] [two machines|several machines|two computers]",
            "[use|borrow] the gpu of another [machine|computer]",
        ),
    ),
    Shell(
        "--attach",
        "`localspec run --attach FILE` lets the model read that file or folder.",
        "It may be given several times.",
        (
            "[attach|give it|add] [a file|a pdf|a folder|a document] [on the command line|in a script|with localspec run]",
        ),
    ),
    Shell(
        "--image",
        "`localspec run --image FILE` shows the model that image.",
        "The model needs a projector for it.",
        (
            "[show|give|send] [it|the model|localspec run] [an image|a picture|a photo] [on the command line|in a script|]",
        ),
    ),
    Shell(
        "--tool",
        "`--tool NAME` lets the model call that tool, such as `get_time` or `calculate`.",
        "It may be given several times.",
        (
            "[allow|switch on|give it] [a tool|tools|the calculator] [on the command line|in a script|with localspec run]",
        ),
    ),
    Shell(
        "--mcp",
        "`--mcp NAME` lets the model call every tool of that MCP server.",
        "`localspec mcp` lists the servers.",
        ("[switch on|use|allow] an mcp server [on the command line|in a script|for one reply|at the start]",),
    ),
    Shell(
        "--prompt",
        "`localspec run --prompt NAME` begins with a prompt of your own, and `--field` fills in its fields.",
        "`/prompt edit` and a name writes one in the chat.",
        (
            "[use|take] [a saved prompt|a prompt of my own|a template] [on the command line|in a script|with localspec run]",
        ),
    ),
    Shell(
        "--parallel",
        "`--parallel N` makes that many replies at once, in `localspec serve` and `localspec batch`.",
        "Without it there are 4.",
        (
            "[answer|serve|handle] several [requests|replies|clients] at [once|the same time]",
            "[set|change] [how many replies are made at once|the number of replies at once]",
        ),
    ),
    Shell(
        "--continue",
        "`localspec chat --continue` goes on with the last conversation.",
        "",
        ("[start|open] [it|localspec] with the last conversation",),
    ),
)
GENERAL = (
    Topic(
        "letters",
        "A single letter is a key of the chosen turn: choose one with Alt+Up, then press the letter twice, since it may begin a message.",
        "A single letter acts on the chosen turn when it is pressed twice.",
        "With the key map `vim` a letter acts at once.",
        asks=(
            "how do [the single letters|single letter keys|the letter keys] work",
            "why do I have to press [a letter|y|the key] twice",
            "I [pressed|typed] [y|e|c|o] and it [only wrote a letter|went into the prompt|did nothing]",
            "what are single letter keys",
        ),
    ),
    Topic(
        "change_keys",
        'Write other keys into the section `[keys]` of the settings file, for example `new = "ctrl+y"`. `localspec config edit` opens the file.',
        "In the section `[keys]` of the settings file.",
        "The setting `keymap` chooses a whole set: `default`, `vim` or `web`.",
        goals=(
            "[change|remap|rebind|customise|configure] [the keys|keys|a key|key bindings|shortcuts|the shortcuts]",
            "[have|set|use] [other|my own|different] [keys|shortcuts|key bindings]",
        ),
        asks=(
            "can I [change|remap|rebind] [keys|the keys|shortcuts]",
            "[a key|a shortcut] is taken by [tmux|my terminal|the window manager], can I change it",
        ),
    ),
    Topic(
        "vim",
        'Set `keymap = "vim"` in the section `[screen]` of the settings file. Then Esc leaves the prompt, letters move through the conversation, and i goes back to writing.',
        'With `keymap = "vim"` in the settings.',
        "With it a reply is stopped by Ctrl+X, since Esc leaves the prompt.",
        goals=("[use|get|have|turn on|enable|switch to] [vim keys|vim key bindings|vi mode|vim mode|vi keys]",),
        asks=("[vim|vi] [mode|keys]", "are there vim keys", "does it [have|support] vim [keys|mode|bindings]"),
    ),
    Topic(
        "line_mode",
        "`localspec chat --plain` opens the line mode: it chats in plain text, line by line, without a full screen. `/help` lists its commands.",
        "`localspec chat --plain` chats line by line.",
        "It suits screen readers and slow lines.",
        goals=("[use|get|open|start] [the line mode|line mode|a mode for screen readers]",),
        asks=("what is the line mode", "does it work with a screen reader", "[line mode|screen reader]"),
    ),
)
"""Topics about keys and commands in general."""
OFTEN = frozenset(
    [
        "accept",
        "again",
        "attach",
        "compact",
        "compare",
        "continue",
        "conversations",
        "copy",
        "delete",
        "edit",
        "editor",
        "export",
        "folder",
        "import",
        "inspect",
        "marks",
        "pairs",
        "persona",
        "prompt",
        "race",
        "recall",
        "rename",
        "search",
        "set",
        "settings",
        "stats",
        "theme",
        "tools",
        "tour",
        "undo",
    ]
) | {
    "localspec batch",
    "localspec bench",
    "localspec doctor",
    "localspec history export",
    "localspec history rm",
    "localspec history search",
    "localspec pairs check",
    "localspec pairs list",
    "localspec pairs pull",
    "localspec serve",
    "localspec serve-web",
    "localspec stats",
    "localspec verify",
    "--connect",
    "--draft",
    "--max-tokens",
    "--pair",
    "--system",
    "--target",
}
"""Topics that are asked about twice as often as the rest."""
WORDS_FOR_UNKNOWN = (
    "foo",
    "dance",
    "fly",
    "sing",
    "model2",
    "sudo",
    "make",
    "play",
    "weather",
    "translate",
    "imagine",
    "vote",
    "login",
    "ban",
    "joke",
    "roll",
    "time",
    "whisper",
    "kick",
    "invite",
)
KEYS_FOR_UNKNOWN = (
    "Ctrl+B",
    "Ctrl+Y",
    "Ctrl+K",
    "Ctrl+U",
    "Ctrl+X",
    "Ctrl+D",
    "F11",
    "Alt+B",
    "Alt+Q",
    "Alt+W",
    "Alt+Z",
    "Alt+X",
    "Alt+J",
    "Alt+F",
    "Alt+P",
    "Alt+K",
    "Ctrl+F",
    "Ctrl+E",
    "Ctrl+W",
    "F13",
)

KEY_FRAMES = (
    "what does {} do",
    "what does {} do",
    "what is {}",
    "what is {} for",
    "what's {}[| for]",
    "{}",
    "what [happens|do I get|comes up] [when|if] I [press|hit|use] {}",
    "I [pressed|hit] {}[| by accident| by mistake], what [did it do|happened|was that|does it do]",
    "[which|what] [command|action|function|thing] is [on|behind] {}",
    "what [is|'s] [on|behind] {}",
    "[explain|describe] {}",
    "[what|which] use [is|has] {}",
    "what do I [use|need|press] {} for",
    "{} does what",
    "[is there something|is anything] on {}",
    "tell me [about|what] {} [does|]",
    "what will {} [show|do|give|bring] me",
    "do you know what {} does",
    "what [would|does] pressing {} do",
    "[I read about|the hints mention|I see] {}, what [is that|does it do]",
    "does {} do [anything|something]",
)
SLASH_FRAMES = (
    "what does {} do",
    "what does {} do",
    "what is {}",
    "what is {} for",
    "what's {}[| for| good for]",
    "{}",
    "what [happens|do I get] [when|if] I [type|enter|use|write] {}",
    "[explain|describe] {}",
    "how [do I|does one|to] use {}",
    "how does {} work",
    "when [do|would|should] I [use|need|type] {}",
    "tell me about {}",
    "what will {} [show|do|give] me",
    "{} does what",
    "do you know what {} does",
    "I [saw|read about|found] {}, what [is it|does it do]",
    "what [would|does] typing {} do",
    "is {} a command",
    "[the|] meaning of {}",
)
GOALS = (
    "how [do|can|could|would|should] I {}",
    "how do I {}",
    "how do I {}",
    "how can I {}",
    "how to {}",
    "how does one {}",
    "what do I [press|do|type] to {}",
    "[which|what] [key|command] [do I use to|lets me|is there to] {}",
    "which key [do I press|is there|] to {}",
    "is there a [slash |][command|key|shortcut] to {}",
    "[which|what] slash command [can I use to|lets me] {}",
    "I [want|would like|need|am trying|'d like] to {}",
    "is [it possible|there a way] to {}",
    "can I {}",
    "can you [tell|show] me how to {}",
    "[please |]tell me how to {}",
    "I [don't know|can't figure out|forgot] how to {}",
    "what's the [command|key|shortcut|way] to {}",
    "where can I {}",
    "{}",
    "let me {}",
    "any way to {}",
    "help me {}",
    "what if I want to {}",
)
SHELL_GOALS = (
    "how [do|can|could|would] I {}",
    "how do I {}",
    "how to {}",
    "what do I [type|run] to {}",
    "[which|what] [command|option|flag] [do I use to|lets me|is there to] {}",
    "is there [a command|an option|a flag|a way] to {}",
    "I [want|would like|need|'d like] to {}",
    "can I {}",
    "can it {}",
    "[please |]tell me how to {}",
    "what's the [command|option|way] to {}",
    "is it possible to {}",
    "{}",
)


@cache
def facts() -> dict[str, dict[str, list[str]]]:
    """The names of everything: for each action of the chat its key, slash command and other words, and the commands and options of the shell."""
    return json.loads(FACTS.read_text(encoding="utf-8"))


def _subject(action: str) -> str:
    """The key and the slash command as an answer begins with them."""
    key, slash = facts()["actions"][action][:2]
    held = f"The key {key} on a chosen turn" if len(key) == 1 and key != "@" else key
    if slash and held != key:
        return f"{held}, or `/{slash}`,"
    return f"{held} or `/{slash}`" if slash else held


def _topic(action: Action) -> Topic:
    brief = f"{_subject(action.id)} {action.does}."
    return Topic(action.id, f"{brief} {action.extra}".strip(), brief, MORE_KEYS, goals=action.goals, asks=action.asks)


def _shell_topic(shell: Shell) -> Topic:
    return Topic(
        shell.name,
        f"{shell.answer} {shell.extra}".strip(),
        shell.answer,
        MORE_SHELL,
        goals=shell.goals,
        asks=shell.asks,
    )


@cache
def topics() -> dict[str, Topic]:
    """Every action and every part of the command line as a topic, by its id or name."""
    return {topic.key: topic for topic in (*map(_topic, ACTIONS), *map(_shell_topic, SHELL), *GENERAL)}


def spelled(key: str, rng: Random) -> str:
    """A key as people type it."""
    if len(key) == 1 and key not in "@←→":
        forms = (
            ("capital {}", "shift+{}", "the capital letter {}")
            if key.isupper()
            else ("the letter {}", "the key {}", "the {} key")
        )
        return rng.choice(forms).format(key.lower())
    named = {
        "@": ("@", "the @ sign", "@"),
        "←": ("the left arrow", "arrow left", "left"),
        "→": ("the right arrow", "arrow right", "right"),
    }
    named |= {"Up": ("the up arrow", "arrow up", "cursor up"), "Down": ("the down arrow", "arrow down", "cursor down")}
    if key in named:
        return rng.choice(named[key])
    joint = rng.choice(("+", "+", "+", "-", " "))
    text = joint.join(key.split("+"))
    if rng.random() < 0.15:
        text = text.replace("Ctrl", "Control")
    if rng.random() < 0.5:
        text = text.lower()
    return rng.choice(("{}", "{}", "{}", "the key {}", "the {} key")).format(text)


def _asked_by_name(name: str, frames: tuple[str, ...], rng: Random) -> str:
    """A question with a name in it that survives the slips of the finger."""
    while True:
        text = question(expand(rng.choice(frames), rng).replace("{}", name), rng)
        if name.lower() in text.lower():
            return text


def by_name(action: str, rng: Random) -> str:
    """A question about an action by its key or its slash command."""
    key, slash, *others = facts()["actions"][action]
    if slash and (not key or rng.random() < 0.5):
        word = rng.choice(others) if others and rng.random() < 0.2 else slash
        form = rng.choice(("/{}", "/{}", "/{}", "the /{} command", "the command /{}", "slash {}", "`/{}`"))
        return _asked_by_name(form.format(word), SLASH_FRAMES, rng)
    return _asked_by_name(spelled(key, rng), KEY_FRAMES, rng)


def unknown(rng: Random) -> Turn:
    """A question about a key or a command that does not exist."""
    taken = {word for _, *names in facts()["actions"].values() for word in names}
    if rng.random() < 0.5:
        word = words.invented(rng) if rng.random() < 0.6 else rng.choice(WORDS_FOR_UNKNOWN)
        while word in taken:
            word = words.invented(rng)
        return Turn(
            _asked_by_name(rng.choice(("/{}", "the /{} command", "`/{}`")).format(word), SLASH_FRAMES, rng),
            UNKNOWN_COMMAND,
        )
    return Turn(_asked_by_name(spelled(rng.choice(KEYS_FOR_UNKNOWN), rng), KEY_FRAMES, rng), UNKNOWN_KEY)


def _by_purpose(topic: Topic, goals: tuple[str, ...], rng: Random) -> str:
    ways = [(goals, topic.goals)] * 3 + [(("{}",), topic.asks)] + [(("{}",), WORDINGS.get(topic.key, ()))] * 5
    frames, fillings = rng.choice([way for way in ways if way[1]])
    return question(expand(rng.choice(frames), rng).replace("{}", expand(rng.choice(fillings), rng)), rng)


def _drawn(keys: tuple[str, ...], rng: Random) -> Topic:
    return topics()[rng.choices(keys, [2 if key in OFTEN else 1 for key in keys])[0]]


def about_action(rng: Random, style: Style) -> tuple[Topic, Turn]:
    """A question about a slash command or a key of the chat, and the topic it is about."""
    topic = _drawn((*(action.id for action in ACTIONS), *(topic.key for topic in GENERAL)), rng)
    named = topic.key in facts()["actions"] and rng.random() < 0.45
    ask = by_name(topic.key, rng) if named else _by_purpose(topic, GOALS, rng)
    return topic, Turn(ask, topic.brief if style.brief else topic.answer)


def about_shell(rng: Random, style: Style) -> tuple[Topic, Turn]:
    """A question about a command or an option of the command line, and the topic it is about."""
    topic = _drawn(tuple(each.name for each in SHELL), rng)
    if rng.random() < 0.45 or not (topic.goals or topic.asks or WORDINGS.get(topic.key)):
        name = rng.choice(("{}", "{}", "`{}`", "the command {}" if " " in topic.key else "the option {}"))
        ask = _asked_by_name(name.format(topic.key), SLASH_FRAMES, rng)
    else:
        ask = _by_purpose(topic, SHELL_GOALS, rng)
    return topic, Turn(ask, topic.brief if style.brief else topic.answer)


def tables() -> dict[str, dict[str, list[str]]]:
    """The facts as LocalSpec's tables have them today."""
    import click

    from localspec.chat.commands.chat import CHAT
    from localspec.chat.commands.command import key_label
    from localspec.cli.commands import localspec

    def walk(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
        found = []
        for name, each in sorted(group.commands.items()):
            found.append((f"{path} {name}", each))
            found += walk(each, f"{path} {name}") if isinstance(each, click.Group) else []
        return found

    every = walk(localspec, "localspec")
    options = {
        option for _, each in every for parameter in each.params for option in parameter.opts if option[:2] == "--"
    }
    return {
        "actions": {
            each.id: [key_label(each.keys) if each.keys else "", each.slash, *each.also] for each in CHAT.commands
        },
        "shell": {"commands": [name for name, _ in every], "options": sorted(options)},
    }


if __name__ == "__main__":
    FACTS.write_text(json.dumps(tables(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
