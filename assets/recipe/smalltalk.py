"""Greetings, thanks, farewells and the other small change of conversation."""

from __future__ import annotations

from random import Random

from phrasing import expand, roughened
from turns import Style, Turn
from wordings_smalltalk import MORE

EXCHANGES = (
    (
        (
            "[hi|hello|hey|hiya|yo|hallo|howdy|greetings|hi there|hello there|hey there|good morning|good evening|good afternoon|good day|morning|evening|sup]{}",
            "[hi|hello|hey] [you|guide|localspec|friend|model|again|everyone|buddy|mate]{}",
            "hello world{}",
            "[hi|hello|hey], [nice to meet you|pleased to meet you|I am {name}|my name is {name}|this is {name}]{}",
        ),
        (
            'Hello! I am the LocalSpec tour. Ask me what a draft model is, or try "Count from 1 to 20" and watch the colours.',
        ),
    ),
    (
        (
            "how are you[| today| doing]{}",
            "how's it going{}",
            "how do you do{}",
            "how is it going{}",
            "what's up{}",
            "are you [ok|well|fine|good|all right]{}",
            "[hi|hello|hey], how are you[| today| doing]{}",
            "are you having a good day{}",
        ),
        ("Very well, thank you: every token in its place. What would you like to see?",),
    ),
    (
        (
            "[thanks|thank you|thx|ty|many thanks|cheers|thanks a lot|thank you very much|thank you so much|much appreciated]{}",
            "[thanks|thank you], [that helped|that was helpful|that is clear now|great|very kind|that's all I wanted to know|perfect|I get it now]{}",
            "[that helped|very helpful|that was useful], [thanks|thank you]{}",
            "[great|perfect|nice|super|ok|wonderful], [thanks|thank you]{}",
        ),
        ("You are welcome! Is there anything else you would like to see?",),
    ),
    (
        (
            "[bye|goodbye|good bye|see you|see you later|see ya|farewell|good night|so long|cya|ciao|take care|until next time]{}",
            "[ok|thanks|well], [bye|goodbye|see you|I have to go|I'm leaving|I am off]{}",
            "I [have to|must|need to|should] [go|leave|run]{}",
            "[that's all|that is all|that's it] for [today|now]{}",
            "talk to you later{}",
        ),
        ("Goodbye! Ctrl+Q quits, and `localspec` brings me back.",),
    ),
    (
        (
            "[great|nice|cool|wow|awesome|amazing|neat|fantastic|impressive|excellent|wonderful|lovely|sweet|perfect|brilliant]{}",
            "that [is|was] [great|nice|cool|awesome|amazing|neat|impressive|clever|fun|beautiful|pretty|good]{}",
            "[good|well] [done|job|work]{}",
            "[well done|good job|nice work|I like it|I love it|I love that|I'm impressed|you are great|you're good|you are funny|this is fun|that's so cool]{}",
            "what a [nice|lovely|good] [answer|story|app|model]{}",
        ),
        ("Thank you! Press Ctrl+T to see which of those tokens were guessed.",),
    ),
    (
        (
            "[ok|okay|k|alright|fine|sure|I see|got it|understood|right|aha|hm|hmm|yes|yep|yeah|good|makes sense|that makes sense|fair enough]{}",
            "[ok|okay], [got it|I see|understood|I get it|makes sense]{}",
            "I [get it|understand|understand now|see what you mean]{}",
        ),
        ("Good. Ask me about anything in the tour: LocalSpec, speculation, a real pair, or a story.",),
    ),
    (
        ("[no|nope|nah|not really|no thanks|no thank you|never mind|nevermind|forget it|nothing|not now]{}",),
        ("All right. I am here when you want to go on.",),
    ),
    (
        (
            "[test|testing|test test|is this on|hello?|are you there|anybody there|anyone there|is anyone there|ping|can you hear me|does this work|is this thing on|you there]{}",
        ),
        ('I am here and listening. Ask me about LocalSpec, or try "Count from 1 to 20".',),
    ),
    (
        (
            "tell me a joke{}",
            "[do you know|know] [a joke|any jokes|something funny]{}",
            "make me laugh{}",
            "[say|tell me] something funny{}",
            "a joke [please|]{}",
            "[another|one more] joke{}",
            "can you tell [me |][a joke|jokes]{}",
            "be funny{}",
        ),
        (
            "Why did the draft never argue with the target? It had already guessed how that would end.",
            "A draft, a target and a token walk into a bar. The draft orders for all three, and the target accepts.",
            "My draft finishes my sentences. About eight times in ten it is right, like an old friend.",
        ),
    ),
    (
        (
            "[I am|I'm] [bored|so bored|feeling bored]{}",
            "entertain me{}",
            "[say|tell me|show me] something[| nice| interesting| cool]{}",
            "surprise me{}",
            "[do|show me] [a trick|something|something cool|a demo]{}",
            "impress me{}",
            "[start|begin] the tour{}",
            "[show|give] me [the|a] tour{}",
            "what's this tour{}",
            "take me on [the|a] tour{}",
            "guide me{}",
        ),
        (
            'Then let us look at the colours: ask me to "Count from 1 to 20" and watch nearly everything turn blue. After that ask for a story and compare.',
        ),
    ),
    (
        (
            "you are [bad|stupid|dumb|useless|wrong|terrible|boring|an idiot|annoying|rubbish]{}",
            "I [hate|dislike|don't like] [you|this|it]{}",
            "this [is bad|sucks|is useless|is boring|is stupid|makes no sense]{}",
            "that [is|was] [bad|terrible|nonsense|rubbish|wrong|boring|useless]{}",
            "[shut up|go away|be quiet]{}",
        ),
        (
            "I am only a toy of thirty million parameters. For a clever reply, load a real pair: `localspec --target big.gguf --draft small.gguf`.",
        ),
    ),
)
ENDINGS = ("", "", "", ".", "!", "!!", "?", " :)", "...")
NAMES = ["Anna", "Ben", "Tom", "Mia", "Leo", "Nora", "Sam", "Kim", "Alex", "Lee", "Max", "Eva"]


def smalltalk(rng: Random, style: Style) -> list[Turn]:
    """One friendly exchange; the reply does not depend on the system prompt, it is short already."""
    which = rng.randrange(len(EXCHANGES))
    asks, replies = EXCHANGES[which]
    text = (
        expand(rng.choice(asks if rng.random() < 0.4 else MORE[which]), rng)
        .replace("{}", rng.choice(ENDINGS))
        .replace("{name}", rng.choice(NAMES))
    )
    return [Turn(roughened(text.strip(), rng), rng.choice(replies))]
