"""Turns about the topics: the question in any of its phrasings, and the follow-ups that only make sense after it."""

from __future__ import annotations

from random import Random

import product
from phrasing import expand, question
from situations import SITUATIONS
from topics import APP, PAIRS, SELF, SPECULATION, TOPICS, Topic
from turns import Style, Turn
from wordings import WORDINGS

NAME_FRAMES = (
    "what [is|are|'s] {}",
    "what is {}",
    "what are {}",
    "what's {}",
    "whats {}",
    "what [does|do] {} mean",
    "what is meant by {}",
    "what do you mean by {}",
    "explain {}",
    "explain {} to me",
    "[can|could] you explain {}[| to me| a bit| please]",
    "define {}",
    "describe {}",
    "tell me about {}",
    "[can|could] you tell me [about {}|what {} is|what {} means]",
    "[please |]tell me what {} [is|means|does]",
    "{}",
    "{} meaning",
    "[what|how] about {}",
    "and {}",
    "I [don't|do not] [understand|get] {}",
    "[what's|what is] the [meaning|definition|sense|point|purpose] of {}",
    "what [exactly|actually|precisely] is {}",
    "what is {} [exactly|actually|again|about|for|in simple words|in this app|in localspec]",
    "I want to [know|learn|read|hear] about {}",
    "what should I know about {}",
    "I keep [reading|seeing|hearing] [about |]{}, what is [it|that]",
    "do you know what {} [is|means]",
    "help me understand {}",
    "how would you [explain|describe|define] {}",
    "teach me about {}",
    "[I've|I have] never heard of {}",
    "{}: what is that",
    "what's this {} thing",
    "could you [clarify|define] {}",
    "[give me|I need] a [definition|short explanation|quick explanation] of {}",
    "what does it mean when you say {}",
    "remind me what {} is",
    "someone [mentioned|told me about] {}, what is it",
)
GOAL_FRAMES = (
    "how [do|can|could|would|should] I {}",
    "how do I {}",
    "how can I {}",
    "how to {}",
    "how does one {}",
    "how do you {}",
    "what do I [press|do|type] to {}",
    "[which|what] [key|command|option] [do I use to|lets me|is there to] {}",
    "what's the [way|command|trick|key|best way] to {}",
    "I [want|would like|need|wish|am trying|'d like] to {}",
    "is [it possible|there a way|there a key|there a command] to {}",
    "can I {}",
    "can you [tell|show] me how to {}",
    "[please |]tell me how to {}",
    "[please |]show me how to {}",
    "is there [any|some] way to {}",
    "I [don't know|can't figure out|forgot] how to {}",
    "where can I {}",
    "what [should|must] I do to {}",
    "help me {}",
    "{}",
    "what [key|button] [should I press|do I hit] to {}",
    "how might I {}",
    "could I {} [somehow|]",
    "what if I want to {}",
    "any way to {}",
    "explain how to {}",
    "let me {}",
    "teach me how to {}",
    "I wish I could {}",
)
SHORT = (
    "{}, in one sentence",
    "in one sentence, {}",
    "briefly, {}",
    "{} (short answer please)",
    "{}, in short",
    "short answer: {}",
    "in a few words, {}",
    "{}, briefly",
    "keep it short: {}",
    "{} tl;dr",
)
MORE = (
    "[tell|say|give] me more[| about it| about that| please| about this]",
    "more[| please| about that| details| info]",
    "go on",
    "[can you|could you] [elaborate|say more|expand on that|go on|tell me more|explain more|go deeper]",
    "[what|anything] else[| about it| about that| is there to know]",
    "and[| then| what else]",
    "continue",
    "keep going",
    "I'd like to know more",
    "more details please",
    "is there more",
    "interesting, [go on|tell me more]",
    "explain further",
    "in more detail",
    "[ok|okay], and",
    "elaborate",
    "what more is there",
    "give me the details",
)
WHY = (
    "why",
    "and why",
    "why is that",
    "but why",
    "why so",
    "and why is that",
    "how come",
    "why is it so",
    "what's the reason",
    "for what reason",
    "can you tell me why",
    "and why does that [matter|work]",
    "why though",
    "why does it [work|do that]",
    "what is the reason for that",
)
BRIEF = (
    "[shorter|shorter please|shorter, please]",
    "[can you|could you] [say it|say that|put it|put that|make it] [shorter|more briefly|in fewer words|shortly]",
    "in short",
    "[the short version|short version|tl;dr|tldr|summary|sum it up|summarise that]",
    "too long",
    "[that's|that is|that was] too long",
    "make it [shorter|brief|short]",
    "in one sentence",
    "in [a few|fewer] words",
    "briefly please",
    "simpler",
    "[can you|could you] [simplify that|say it more simply]",
    "I don't [get it|understand]",
    "give me [the gist|a short version]",
)
AGAIN = (
    "[say|tell me|explain] [that|it] again",
    "again please",
    "[what|pardon|sorry]",
    "repeat [that|it|your answer|what you said]",
    "could you [repeat that|say that again|repeat your answer]",
    "I didn't catch that",
    "come again",
    "once more please",
    "can you repeat it",
)
OFF = (
    "how [do|can] I [turn|switch] [that|it|this] off",
    "[can|could] [it|that|I] [be turned off|be switched off|turn it off|turn that off|disable it|disable that]",
    "turn it off",
    "how do I [disable|stop|deactivate|get rid of] [that|it|this]",
    "and how do I turn it off",
    "I don't want [that|it], how do I turn it off",
    "is there a way to turn [that|it] off",
    "how do I go back",
    "how do I undo that",
    "can I turn that off",
)
ACTION_OF = {topic: action for action, topic in product.SAME_AS.items()}
NEW = {"heads", "eagle3", "dflash", "mtp", "own_tools"}
CHANGED = NEW | {
    "abilities",
    "drafters",
    "keys",
    "options",
    "privacy",
    "slash",
    "pairs_command",
    "self",
    "size",
    "this_gain",
}
END_OF_TOPIC = "That is all I know about it. Ask me about something else, or press F1 for the help."


def asked(topic: Topic, rng: Random) -> str:
    """A question for the topic: by its name, by what one wants to do, or in its own words."""
    ways = [(NAME_FRAMES, topic.names)] * 2 + [(GOAL_FRAMES, topic.goals)] * 3 + [(("{}",), topic.asks)] * 3
    ways += [(("{}",), SITUATIONS.get(topic.key, ()))] * 4
    ways += [(("{}",), WORDINGS.get(topic.key, ()))] * 12
    frames, fillings = rng.choice([way for way in ways if way[1]])
    return expand(rng.choice(frames), rng).replace("{}", expand(rng.choice(fillings), rng))


def opening(topic: Topic, rng: Random, style: Style) -> tuple[Turn, bool]:
    """The first turn, and whether its answer was the short one."""
    action = ACTION_OF.get(topic.key)
    if action and rng.random() < 0.2:
        return Turn(product.by_name(action, rng), topic.brief if style.brief else topic.answer), style.brief
    text = asked(topic, rng)
    short = rng.random() < 0.06
    if short:
        text = rng.choice(SHORT).format(text)
    short = short or style.brief
    return Turn(question(text, rng), topic.brief if short else topic.answer), short


def follow_up(topic: Topic, said: str, rng: Random) -> Turn:
    """A second question that leans on the first."""
    choices = [(MORE, _next(topic, said)), (MORE, _next(topic, said)), (BRIEF, topic.brief), (AGAIN, said)]
    if topic.why:
        choices += [(WHY, topic.why)] * 2
    if topic.off:
        choices += [(OFF, topic.off)] * 2
    asks, reply = rng.choice(choices)
    return Turn(question(rng.choice(asks), rng), reply)


def _next(topic: Topic, said: str) -> str:
    """The text after ``said``: a topic is told short, full, more, and then no more."""
    if said == topic.brief:
        return topic.answer
    return END_OF_TOPIC if said == topic.more else topic.more


def turns_about(topics: tuple[Topic, ...], rng: Random, style: Style) -> list[Turn]:
    """A question on one topic and perhaps up to two follow-ups."""
    topic = rng.choice(topics)
    first, _ = opening(topic, rng, style)
    turns = [first]
    while rng.random() < 0.3 and len(turns) < 3:
        turns.append(follow_up(topic, turns[-1].reply, rng))
    return turns


def app(rng: Random, style: Style) -> list[Turn]:
    return turns_about(APP, rng, style)


def speculation(rng: Random, style: Style) -> list[Turn]:
    return turns_about(SPECULATION, rng, style)


def pairs(rng: Random, style: Style) -> list[Turn]:
    return turns_about(PAIRS, rng, style)


def self(rng: Random, style: Style) -> list[Turn]:
    return turns_about(SELF, rng, style)


def changed(rng: Random, style: Style) -> list[Turn]:
    """Questions about topics that are new in the tour, or were told otherwise."""
    return turns_about(tuple(topic for topic in TOPICS if topic.key in CHANGED), rng, style)


def commands(rng: Random, style: Style) -> list[Turn]:
    """A question about a slash command or a key, and now and then what leans on it."""
    if rng.random() < 0.04:
        return [product.unknown(rng)]
    return _with_more(*product.about_action(rng, style), rng)


def shell(rng: Random, style: Style) -> list[Turn]:
    """A question about the command line, and now and then what leans on it."""
    return _with_more(*product.about_shell(rng, style), rng)


def _with_more(topic: Topic, first: Turn, rng: Random) -> list[Turn]:
    return [first, follow_up(topic, first.reply, rng)] if rng.random() < 0.12 else [first]


__all__ = ["TOPICS", "app", "asked", "changed", "commands", "pairs", "self", "shell", "speculation", "turns_about"]
