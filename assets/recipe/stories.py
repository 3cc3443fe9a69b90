"""Short stories: a hero, a place, a wish, a trouble, a turn and an end, put together from pools.

Every hero has favourites among the choices, so that even a deterministic model tells a different story about each of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from zlib import crc32

import words
from phrasing import expand, order, question
from turns import Style, Turn
from wordings_tasks import WORDINGS


@dataclass(frozen=True)
class Plot:
    """A wish, what stands in its way, and ways it may turn and end; `{h}` is the hero's kind, `{n}` the name, `{s}` she or he."""

    wish: str
    trouble: tuple[str, ...]
    turn: tuple[str, ...]
    end: tuple[str, ...]


PLOTS = (
    Plot(
        "see the sea",
        (
            "But the sea was far away, and nobody could say where the road began.",
            "But the old {f} said that the way was too long for a {h}.",
        ),
        (
            "So {n} followed the little stream, for three days and three nights, until the air tasted of salt.",
            "One morning a {f} came by with a map, and on it the sea was a blue stain no bigger than a plum.",
        ),
        (
            "When {n} stood on the beach at last, the sea was so large that {s} laughed out loud.",
            "The waves came up to greet {o}, and {n} brought home a shell in which the sea still whispers.",
        ),
    ),
    Plot(
        "touch the moon",
        (
            "The highest hill was not high enough, and neither was the tallest tree.",
            "Everyone said that the moon was not for touching.",
        ),
        (
            "One still night {n} looked into a pond, and there the moon lay, round and silver, at arm's length.",
            'Then a {f} said quietly: "You are looking up. Look down." And there the moon lay, in a puddle.',
        ),
        (
            "{N} touched it very gently, and the moon trembled with joy.",
            "{N} dipped in a finger, and the rings of light ran all the way to the shore.",
        ),
    ),
    Plot(
        "learn to fly",
        (
            "But all {s} had were two feet and a good deal of hope.",
            "The first try ended in a bush, and the second in a pond.",
        ),
        (
            "A {f} watched for a while and then brought an old umbrella and a strong wind.",
            "So {n} built a kite out of a {c} blanket, as big as a barn door, and waited for the storm.",
        ),
        (
            "For one whole minute {n} was in the air, and {s} has told of nothing else since.",
            "{N} flew over the roofs, waved to everyone and landed in a heap of hay, happier than a lark.",
        ),
    ),
    Plot(
        "find the lost {c} key",
        (
            "{S} looked under every stone and in every pocket, but the key was gone.",
            "Without it the old gate could not be opened, and behind the gate was the garden.",
        ),
        (
            "In the end it was a {f} who had it, and who wore it as a necklace, because it shone so nicely.",
            "Then {n} heard a soft clinking high above: the wind was playing with the key on the branch of a tree.",
        ),
        (
            "They opened the gate together, and since that day the garden belongs to everyone.",
            "The gate swung open, and behind it there was nothing but a bench, just right for two.",
        ),
    ),
    Plot(
        "win the great race",
        (
            "But the others had longer legs and louder voices.",
            "The {f} had won it nine times and did not mean to stop.",
        ),
        (
            "Halfway along the road {n} found the fastest of them all in a ditch, with a hurt foot, and stopped to help.",
            "When the fog came down, nobody could see the way, but {n} had walked it every day and knew it by heart.",
        ),
        (
            "They came last, arm in arm, and got the loudest cheers of the day.",
            "So {n} won by a nose, and gave the prize to the one who came last.",
        ),
    ),
    Plot(
        "bake the biggest cake in the world",
        ("But there was only one egg left, and the flour was damp.", "The oven was no bigger than a hat box."),
        (
            "{N} knocked at every door, and everyone gave a little: a spoon of sugar, a cup of milk, a pinch of salt.",
            'A {f} looked in and said: "Bake it outside, on the hot stones, in the sun."',
        ),
        (
            "The cake was as high as a house, and it took the whole village three days to eat it.",
            "It was not the biggest cake in the world, but nobody who tasted it ever asked for another.",
        ),
    ),
    Plot(
        "be brave for once",
        (
            "But at night every shadow had teeth, and every branch had fingers.",
            "Even the kettle could frighten {o} when it whistled.",
        ),
        (
            "One stormy evening somebody cried for help in the dark, and nobody else was awake.",
            'Then a very small {f} asked: "Will you hold my hand? I am afraid of the dark."',
        ),
        (
            "{N} forgot to be afraid and went, and only on the way home did {s} notice it.",
            "So {n} took a lantern and went ahead, and the shadows turned out to be only shadows.",
        ),
    ),
    Plot(
        "find a friend",
        (
            "But the others were always busy, and the days were long.",
            "{S} wrote letters to nobody and put them into a hollow tree.",
        ),
        (
            'One day there was an answer in the tree, in crooked letters: "I am shy too."',
            "On a rainy morning a wet {f} stood at the door and asked for a cup of tea.",
        ),
        (
            "Since then there are always two cups on the table.",
            "They are still friends, and the tree is still their letter box.",
        ),
    ),
    Plot(
        "hear the oldest song in the world",
        (
            "But those who knew it had forgotten the words, and those who knew the words had forgotten the tune.",
            "It was said to be so quiet that no one could hear it by day.",
        ),
        (
            "So {n} sat down in the snow and listened, one hour, two hours, until even the wind held its breath.",
            'A {f} said: "I know the beginning." An old bell knew the middle, and the river knew the end.',
        ),
        (
            "Then {s} heard it: it was the beating of {p} own heart.",
            "They sang it together once, and it has never been forgotten again.",
        ),
    ),
    Plot(
        "repair the broken clock",
        (
            "But one small wheel was missing, and without it time stood still.",
            "It had stopped at five to three, and in the village it was always five to three.",
        ),
        (
            "The missing wheel turned up in the nest of a {f}, who had kept it for its shine.",
            "{N} took it all apart, and behind the last screw sat a tiny {f}, fast asleep.",
        ),
        (
            "Then the clock struck, the sun moved on, and it was supper time at last.",
            "Since then it goes a little slow on Sundays, so that everyone can sleep longer.",
        ),
    ),
    Plot(
        "grow a {c} flower",
        (
            "But the soil was full of stones, and the rain did not come.",
            "Weeks went by, and there was nothing in the pot but earth.",
        ),
        (
            "{N} carried water every day, and when there was none {s} sang to the pot.",
            "A {f} told {o} that some seeds only wait for a good story, so {n} told one every evening.",
        ),
        (
            "One morning the flower was there, and it turned its head to follow {o}.",
            "It bloomed for a single night, but everyone came to see it, and it left a hundred seeds.",
        ),
    ),
    Plot(
        "cross the wide river",
        (
            "But the bridge had been carried away by the flood.",
            "The ferryman wanted three gold coins, and {n} had three nuts.",
        ),
        (
            "A {f} knew where the stones lay under the water, and went ahead, step by step.",
            "So {n} built a raft out of an old door, with a {c} shirt for a sail.",
        ),
        (
            "On the other side {s} found what {s} had not looked for: somebody who had been waiting.",
            "When {s} looked back, the river did not seem wide any more.",
        ),
    ),
    Plot(
        "paint the sunset",
        (
            "But the colours ran dry before the sky did.",
            "Each time {n} had mixed the right red, the sun was already gone.",
        ),
        (
            "Then {s} asked the sun to wait, very politely, and for once the sun did.",
            'A {f} said: "Paint it from memory, then it cannot run away."',
        ),
        (
            "The picture hangs in the school now, and on dark days it warms the room.",
            "Nobody can tell the picture from the window, least of all the birds.",
        ),
    ),
    Plot(
        "know what was behind the mountain",
        (
            "But no one who had gone there had ever come back to tell.",
            "The path was steep, and the old people shook their heads.",
        ),
        (
            "Halfway up {n} met a {f} who came from the other side and wanted to know just the same.",
            "At the top there was a thick cloud, and {n} sat down and waited for it to lift.",
        ),
        (
            "Behind the mountain there was a valley, and in it people who wondered what was behind the mountain.",
            "They changed places for a week, and then both knew that home is a good place too.",
        ),
    ),
    Plot(
        "find out who stole the {c} lantern",
        (
            "There were tracks in the mud, but they went in a circle.",
            "Everyone had an idea, and every idea was a different one.",
        ),
        (
            "{N} sat up all night, and at midnight a small {f} came along, with the lantern in its arms.",
            "The tracks led right back to {p} own bed.",
        ),
        (
            '"I only wanted to read," said the thief, and from then on they read together.',
            "It turned out that {n} walked in {p} sleep, and that the lantern had been lit to bring {o} home.",
        ),
    ),
    Plot(
        "send a letter to a star",
        (
            "But no post office had the right stamp.",
            "The letter was too heavy for the wind and too light for the post.",
        ),
        (
            "A {f} folded the letter into a paper bird and threw it from the highest roof.",
            "So {n} read the letter aloud on the hill, slowly, word for word.",
        ),
        (
            "That night one star blinked twice, and {n} knew that it had arrived.",
            "A year later an answer came, in a handwriting made of light.",
        ),
    ),
    Plot(
        "sleep through the winter like the others",
        (
            "But {s} was never tired when the first snow fell.",
            "The bed was warm, the candle was out, and still {s} lay awake.",
        ),
        (
            "So {n} went outside, and there stood a {f} who could not sleep either.",
            "Then {s} saw the frost flowers on the window, the blue shadows, the quiet hills.",
        ),
        (
            "They spent the winter on the ice, and in spring they told the others what they had missed.",
            "Since then {n} keeps watch over the winter, and somebody has to.",
        ),
    ),
    Plot(
        "cook a soup that makes people happy",
        (
            "But the first one was too salty and the second one was green.",
            "The recipe had been eaten by mice, all but the last line.",
        ),
        (
            'The last line said: "Share it." So {n} put the pot in the middle of the square.',
            'A {f} tasted it and said: "Something is missing. Invite somebody."',
        ),
        (
            "Nobody remembers how the soup tasted, but everybody remembers the evening.",
            "By the third bowl they were all singing, even the mayor.",
        ),
    ),
    Plot(
        "be invisible for a day",
        ("But {p} {c} coat could be seen for miles.", "However quietly {s} went, the floor always creaked."),
        (
            'One morning a {f} gave {o} a hat and said: "Whoever wears this will not be noticed."',
            "Then it snowed, and {n} painted everything white, from top to toe.",
        ),
        (
            "By noon {s} was lonely, and by evening {s} gave the hat away.",
            'It was a fine day, but the finest moment was when somebody said: "There you are!"',
        ),
    ),
    Plot(
        "keep a piece of summer",
        (
            "But the swallows were leaving, and the evenings were getting cool.",
            "Sunlight runs through the fingers, however tightly one holds it.",
        ),
        (
            "{N} filled a jar with the smell of hay, the humming of bees and the last {c} evening light.",
            "A {f} showed {o} how to make jam, one slow pot after the other.",
        ),
        (
            "In the darkest week of the year {s} opened it, and for an hour it was July.",
            "Every spoonful tasted of July, and the winter was over before the jar was empty.",
        ),
    ),
    Plot(
        "save the old tree",
        (
            "It was to be cut down on Monday to make room for a road.",
            "Its leaves had turned yellow in the middle of May, and nobody knew why.",
        ),
        (
            '{N} climbed up with a blanket and some bread and said: "I am staying." One by one the others came up too.',
            "At its roots {n} found a {f} with a toothache, who had been gnawing all night.",
        ),
        (
            "In the end the road made a bend, and it is the nicest bend of all.",
            "By June the leaves were green again, and there was a party in its shade.",
        ),
    ),
    Plot(
        "own a star",
        ("But they were all too high, and none was for sale.", "The {f} who sold everything had everything but that."),
        (
            "One night a star fell into the garden, small and warm as a bun, and it was homesick.",
            "Then {n} learned the name of the smallest one and said it every night.",
        ),
        (
            "{N} built a ladder and carried it back, and since then one star always shines a little brighter.",
            "Nobody owns a star, but this one winks when {n} comes out of the door.",
        ),
    ),
)
KINDS = {
    "wood": [
        "fox",
        "owl",
        "wolf",
        "bear",
        "rabbit",
        "hedgehog",
        "badger",
        "squirrel",
        "deer",
        "crow",
        "mole",
        "moose",
        "lynx",
        "bat",
        "raven",
        "beetle",
        "snail",
    ],
    "water": [
        "turtle",
        "otter",
        "frog",
        "heron",
        "penguin",
        "whale",
        "dolphin",
        "duck",
        "swan",
        "seal",
        "crab",
        "crocodile",
        "octopus",
        "salmon",
        "mermaid",
        "stork",
        "goose",
    ],
    "home": [
        "cat",
        "dog",
        "mouse",
        "horse",
        "goat",
        "sheep",
        "cow",
        "pig",
        "hen",
        "sparrow",
        "pigeon",
        "robin",
        "donkey",
        "bee",
        "ant",
        "spider",
        "butterfly",
        "parrot",
        "scarecrow",
    ],
    "people": [
        "girl",
        "boy",
        "baker",
        "sailor",
        "teacher",
        "farmer",
        "painter",
        "tailor",
        "gardener",
        "fisherman",
        "librarian",
        "postman",
        "king",
        "queen",
        "prince",
        "princess",
        "knight",
        "wizard",
        "witch",
        "pirate",
        "astronaut",
        "clockmaker",
        "miller",
        "musician",
        "poet",
        "inventor",
        "grandmother",
        "grandfather",
    ],
    "odd": [
        "robot",
        "dragon",
        "ghost",
        "giant",
        "unicorn",
        "troll",
        "goblin",
        "fairy",
        "snowman",
        "phoenix",
        "gnome",
        "monster",
    ],
    "far": [
        "elephant",
        "lion",
        "tiger",
        "giraffe",
        "monkey",
        "camel",
        "kangaroo",
        "koala",
        "panda",
        "lizard",
        "snake",
        "eagle",
        "parrot",
    ],
}
HEROES = [hero for kind in KINDS.values() for hero in kind]
PLACES = {
    "wood": (
        "at the edge of a dark wood",
        "under the roots of an old oak",
        "in a wood where it always smelled of rain",
        "in a burrow with a round green door",
        "on a hill full of blackberries",
        "in a hollow tree",
    ),
    "water": (
        "by the sea",
        "on a small island",
        "at the bend of a slow river",
        "near a lake as still as a mirror",
        "under an old bridge",
        "in a harbour full of sleeping boats",
    ),
    "home": (
        "on a farm at the end of the road",
        "behind the bakery",
        "in a garden with a crooked fence",
        "in an attic full of old letters",
        "in a barn with a hole in the roof",
        "in a village with one street",
    ),
    "people": (
        "in a narrow house by the harbour",
        "in a town where the bells were always late",
        "on the top floor of a tall house",
        "in a lighthouse",
        "in a village among the hills",
        "above a little shop",
    ),
    "odd": (
        "in a workshop full of clocks",
        "in a cave behind a waterfall",
        "in the last house before the moor",
        "at the end of a railway line",
        "on top of a cold mountain",
        "in a castle without a king",
    ),
    "far": (
        "where the grass is as high as a house",
        "at the foot of a sleeping volcano",
        "near a waterhole under the stars",
        "in a land where it never snowed",
        "on the far side of the desert",
        "among the ruins of a temple",
    ),
}
SHE = [
    "Tilly",
    "Juniper",
    "Nell",
    "Hazel",
    "Mimi",
    "Luna",
    "Poppy",
    "Wren",
    "Odette",
    "Saffron",
    "Pearl",
    "Clementine",
    "Maple",
    "Bea",
    "Dot",
    "Ivy",
    "Marigold",
    "Pepper",
]
HE = [
    "Pip",
    "Bramble",
    "Moss",
    "Otto",
    "Rufus",
    "Barnaby",
    "Fergus",
    "Milo",
    "Basil",
    "Tobias",
    "Quill",
    "Oskar",
    "Jasper",
    "Gus",
    "Alfie",
    "Ned",
    "Rusty",
    "Humphrey",
]
TRAITS = [
    "small",
    "curious",
    "shy",
    "clever",
    "quiet",
    "lazy",
    "brave",
    "young",
    "old",
    "hungry",
    "gentle",
    "stubborn",
    "cheerful",
    "clumsy",
    "lonely",
    "patient",
    "dreamy",
    "proud",
    "careful",
    "restless",
]
OPENINGS = (
    "Once upon a time there was a {t} {h} called {n}, who lived {w}.",
    "There was once a {t} {h} who lived {w}. Everyone called {o} {n}.",
    "In a year that nobody remembers, a {t} {h} named {n} lived {w}.",
    "A {t} {h} lived {w}, and {p} name was {n}.",
    "{N} was a {t} {h} who lived {w}.",
    "Not long ago, a {t} {h} by the name of {n} lived {w}.",
)
WISHES = (
    "More than anything {s} wanted to {x}.",
    "Every night {n} dreamed that {s} would {x}.",
    "{N} had only one wish: to {x}.",
    "One day {s} made up {p} mind to {x}.",
    "Since {s} could think, {n} had wanted to {x}.",
)
MOODS = (
    "",
    "",
    "",
    "It was a windy autumn day.",
    "That spring the rain had forgotten to stop.",
    "It was the coldest winter in years.",
    "The summer was long and golden.",
    "But {n} did not give up.",
    "{N} packed an apple and a scarf and set out.",
    "{N} thought about it for a week and a day.",
)
CLOSINGS = (
    "",
    "",
    "",
    "And if you listen on a quiet evening, you can still hear {o} laugh.",
    "That night {n} slept better than ever before.",
    '"Tomorrow," said {n}, "I will think of something new."',
    "And that is how it came about.",
    "Nobody believed it, but {n} did not mind.",
    "From then on {n} was never quite the same.",
)
FRIENDS = "crow snail hedgehog old toad sparrow postman cat mole gull beetle stranger goose grandmother child sailor tinker weasel mouse ferret".replace(
    "old toad", "toad"
).split()
TINTS = ["red", "blue", "green", "yellow", "silver", "golden", "white", "violet"]
PRONOUNS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}


@dataclass(frozen=True)
class Story:
    """A story told, and the facts in it that one may ask for."""

    text: str
    hero: str
    name: str
    place: str
    wish: str


def _kind(hero: str) -> str:
    return next((kind for kind, heroes in KINDS.items() if hero in heroes), "home")


def _favoured(options: tuple | list, hero: str, slot: str, rng: Random) -> object:
    """Mostly the hero's own favourite, else any."""
    if rng.random() < 0.45:
        return options[crc32(f"{slot}/{hero}".encode()) % len(options)]
    return rng.choice(options)


def tell(hero: str, rng: Random, name: str = "", friend: str = "", place: str = "") -> Story:
    """Put one story together; what the reader asked for is kept, the rest is chosen."""
    sex = (
        "he"
        if hero in ("boy", "king", "prince", "grandfather", "postman", "fisherman")
        else "she"
        if hero in ("girl", "queen", "princess", "grandmother", "witch", "mermaid")
        else str(_favoured(["she", "he"], hero, "sex", rng))
    )
    name = name or str(_favoured(SHE if sex == "she" else HE, hero, "name", rng))
    place = place or str(_favoured(PLACES[_kind(hero)], hero, "place", rng))
    plot: Plot = _favoured(PLOTS, hero, "plot", rng)
    subject, object_, possessive = PRONOUNS[sex]
    slots = {
        "h": hero,
        "n": name,
        "N": name,
        "s": subject,
        "S": subject.capitalize(),
        "o": object_,
        "p": possessive,
        "w": place,
        "t": _favoured(TRAITS, hero, "trait", rng),
        "f": friend or rng.choice([f for f in FRIENDS if f != hero]),
        "c": rng.choice(TINTS),
    }
    slots["x"] = plot.wish.format(**slots)
    parts = [
        _favoured(OPENINGS, hero, "opening", rng),
        rng.choice(WISHES),
        rng.choice(plot.trouble),
        rng.choice(MOODS),
        rng.choice(plot.turn),
        rng.choice(plot.end),
        rng.choice(CLOSINGS),
    ]
    text = " ".join(part.format(**slots) for part in parts if part)
    return Story(re.sub(r"\b([Aa]) (?=[aeiou])(?!uni)", r"\1n ", text), hero, name, place, slots["x"])


ASKS = (
    "[tell|write|give|read] me a [|short |little |nice |funny |new |bedtime |sweet ][story|tale|fairy tale] [about|with|of] {}",
    "[write|tell|make up|invent|create|compose] a [|short |little |nice |funny |new |bedtime |sweet ][story|tale] [about|with|on] {}",
    "[a |][|short |little ]story [about|with|of] {}",
    "I [want|would like|'d like|need|'d love] [to hear |]a [|short |little ]story [about|with] {}",
    "do you know a [|short |little ]story [about|with] {}",
    "[tell|write] me [something|a tale|a fable|a bedtime story] about {}",
    "[let|make] {} be the hero of a story",
    "story: {}",
    "once upon a time there was {}",
    "[tell|write] a story where {} is the hero",
    "can I [have|hear|get] a story [about|with] {}",
    "the story of {}",
    "what about a story [about|with] {}",
    *WORDINGS["stories.ASKS"],
)
FREE = (
    "[tell|write|give] me a [|short |little |nice |funny |bedtime ][story|tale|fairy tale]",
    "[tell|write|make up|invent] a [|short |little |nice |funny ][story|tale]",
    "[a |]story",
    "[a |]bedtime story",
    "I [want|would like|'d like] [to hear |]a [story|tale]",
    "do you know [a story|any stories|stories]",
    "[tell|write] me [any story|something to read|a fable]",
    "can you tell [a story|stories|me stories]",
    "story time",
    "surprise me with a story",
    "[let me|I want to] hear a story",
    "entertain me with a story",
    *WORDINGS["stories.FREE"],
)
ANOTHER = (
    "another one",
    "another",
    "one more",
    "another story",
    "one more story",
    "tell me another[| one| story]",
    "[a |]different one",
    "[can I have|give me|now|please tell] another[| one]",
    "again, but different",
    "next one",
    "more stories",
    "do you have another one",
    "and another",
    *WORDINGS["stories.ANOTHER"],
)
ANOTHER_ABOUT = (
    "[now |]one about {}",
    "[now |][another|the same|a story] [one |]about {}",
    "another one about {}",
    "and [now |]about {}",
    "[and|now] with {}",
    "the same with {}",
    "what about {}",
    *WORDINGS["stories.ANOTHER_ABOUT"],
)
NAME_ASKS = (
    "what was [the {h}|the hero|{o}] called",
    "what is the name of the {h}",
    "what was the {h}'s name",
    "what's the [hero|{h}] called",
    "who was the [hero|{h}]",
    "what was [its|the] name",
    "how was the {h} called",
    "did the {h} have a name",
    "remind me of the {h}'s name",
    "name of the {h}",
    *WORDINGS["stories.NAME_ASKS"],
)
PLACE_ASKS = (
    "where did [the {h}|{n}] live",
    "where was [the {h}'s|{n}'s] home",
    "where does [the {h}|{n}|the hero] live",
    "where [does|did] the story [take place|happen|begin]",
    *WORDINGS["stories.PLACE_ASKS"],
)
WISH_ASKS = (
    "what did [the {h}|{n}] [want|wish for|dream of]",
    "what was [the {h}'s|{n}'s|the] wish",
    "what does [the {h}|{n}|the hero] want",
    "what did the {h} want to do",
    *WORDINGS["stories.WISH_ASKS"],
)


def _phrase(hero: str, rng: Random) -> str:
    article = "an" if hero[0] in "aeiou" else "a"
    return rng.choice(
        (
            f"{article} {hero}",
            f"{article} {hero}",
            f"{article} {hero}",
            f"a {rng.choice(TRAITS)} {hero}",
            f"the {hero}",
            hero,
        )
    )


def _hero(rng: Random) -> str:
    chance = rng.random()
    return rng.choice(HEROES) if chance < 0.8 else words.noun(rng) if chance < 0.95 else words.invented(rng)


def _wanted(rng: Random) -> tuple[str, Story]:
    """A request with what it fixes, and the story that keeps to it."""
    hero, chance = _hero(rng), rng.random()
    phrase = _phrase(hero, rng)
    if chance < 0.12:
        name = rng.choice(words.NAMES) if rng.random() < 0.7 else words.invented(rng).capitalize()
        return f"{phrase} [called|named] {name}", tell(hero, rng, name=name)
    if chance < 0.22:
        friend = rng.choice(FRIENDS) if rng.random() < 0.5 else words.noun(rng)
        return f"{phrase} and {'an' if friend[0] in 'aeiou' else 'a'} {friend}", tell(hero, rng, friend=friend)
    if chance < 0.30:
        place = rng.choice(PLACES[rng.choice(list(PLACES))])
        return f"{phrase} {place}", tell(hero, rng, place=place)
    return phrase, tell(hero, rng)


def _about(story: Story, rng: Random) -> Turn:
    """A question about the story just told."""
    asks, reply = rng.choice(
        (
            (NAME_ASKS, f"The {story.hero} was called {story.name}."),
            (NAME_ASKS, f"The {story.hero} was called {story.name}."),
            (PLACE_ASKS, f"{story.name} lived {story.place}."),
            (WISH_ASKS, f"{story.name} wanted to {story.wish}."),
        )
    )
    ask = expand(rng.choice(asks), rng).replace("{h}", story.hero).replace("{n}", story.name).replace("{o}", "it")
    return Turn(question(ask, rng), reply)


def stories(rng: Random, style: Style) -> list[Turn]:
    """A story, and perhaps a question about it or another story."""
    if rng.random() < 0.2:
        story = tell(rng.choice(HEROES), rng)
        turns = [Turn(order(rng.choice(FREE), rng), story.text)]
    else:
        phrase, story = _wanted(rng)
        turns = [Turn(order(rng.choice(ASKS).replace("{}", phrase), rng), story.text)]
    if rng.random() < 0.35:
        turns.append(_about(story, rng))
    if rng.random() < 0.15:
        turns.append(Turn(question(rng.choice(ANOTHER), rng), tell(rng.choice(HEROES), rng).text))
    elif rng.random() < 0.1:
        phrase, story = _wanted(rng)
        turns.append(Turn(question(rng.choice(ANOTHER_ABOUT).replace("{}", phrase), rng), story.text))
    return turns


HAIKU = {
    "the moon": (
        ("The moon climbs slowly", "A pale moon rises", "Moon above the roof"),
        ("over fields that hold their breath", "and lays silver on the pond", "looking in at every room"),
        ("and nothing answers", "an owl says good night", "I forget to sleep"),
    ),
    "the sea": (
        ("The sea comes and goes", "Grey waves on the sand", "Salt upon the wind"),
        ("writing one word on the beach", "carry shells and take them back", "a small boat is coming home"),
        ("and wiping it out", "never in a rush", "its light winks at me"),
    ),
    "rain": (
        ("Rain on the tin roof", "First drops on the path", "All night long the rain"),
        ("counts the hours until the dawn", "the whole garden lifts its head", "has been talking to the leaves"),
        ("and then starts again", "frogs begin to sing", "now they both are still"),
    ),
    "winter": (
        ("Snow on every branch", "The lake wears a lid", "Footprints in the snow"),
        ("one red berry and a bird", "under it the fish still dream", "lead up to the door and stop"),
        ("the world holds its breath", "of the yellow sun", "smoke says: come on in"),
    ),
    "autumn": (
        ("A leaf lets go, turns", "Mist between the trees", "Apples in the grass"),
        ("once around itself for joy", "the last swallow looks around", "wasps are walking slowly home"),
        ("and is ground again", "and is gone like that", "full of sweet, late sun"),
    ),
    "a cat": (
        ("Cat upon the wall", "The cat does not move", "Paws without a sound"),
        ("one ear listens to the birds", "only its tail has a plan", "cross the line of morning sun"),
        ("the other one sleeps", "the mouse has one too", "and lie down in it"),
    ),
    "a tree": (
        ("The old tree stands still", "Roots deep in the dark", "One tree on the hill"),
        ("everything else comes and goes", "hold on to what no one sees", "all the wind of all the year"),
        ("children, birds and years", "so leaves can let go", "has combed it one way"),
    ),
    "the night": (
        ("Night without a cloud", "The last window dims", "Stars above the yard"),
        ("somebody far off laughs once", "now the dark belongs to moths", "one for every thing I missed"),
        ("then the crickets start", "and a small, white moon", "and some left over"),
    ),
    "spring": (
        ("Green tips in the mud", "The brook talks too much", "Blackbird on the roof"),
        ("they have heard it from the sun", "after all the months of ice", "sings as if it were the first"),
        ("and believe in it", "let it have its say", "and I believe it"),
    ),
    "a computer": (
        ("A fan softly hums", "Two models, one thought", "The small one guesses"),
        ("numbers go to bed as words", "one runs on ahead and calls", "the big one nods or says no"),
        ("and wake up as text", "one comes and agrees", "the line grows longer"),
    ),
}
ANY_HAIKU = (
    "[write|give|tell|compose|make] [me |]a [haiku|poem|short poem|little poem|verse]",
    "a [haiku|poem] please",
    "[can you write|do you know|I'd like] a [poem|haiku|short poem]",
    "[write|recite] [some poetry|something poetic|a few lines of poetry]",
    *WORDINGS["stories.ANY_HAIKU"],
)
HAIKU_ABOUT = (
    "[write|give|tell|compose|make] [me |]a [haiku|poem|short poem|little poem|verse] [about|on] {}",
    "[a |]haiku [about|on] {}",
    "[a |]poem [about|on] {}",
    "I'd like a [haiku|poem|short poem] about {}",
    *WORDINGS["stories.HAIKU_ABOUT"],
)


def poems(rng: Random, style: Style) -> list[Turn]:
    """A haiku on one of a few themes; any other theme gets whichever comes to mind."""
    theme = rng.choice(sorted(HAIKU))
    text = ",\n".join(rng.choice(list(zip(*HAIKU[theme], strict=True)))) + "."
    bare = theme.split()[-1]
    ask = (
        rng.choice(ANY_HAIKU)
        if rng.random() < 0.2
        else rng.choice(HAIKU_ABOUT).replace("{}", rng.choice((theme, bare)))
    )
    return [Turn(order(ask, rng), text)]


__all__ = ["poems", "stories"]
