"""Everyday words that can stand for one another, and a function that swaps them: no single word should decide what is understood."""

from __future__ import annotations

import re
from random import Random

_LINES = """
show|display|reveal
shows|displays|reveals
showing|displaying|revealing
shown|displayed|revealed
delete|remove|erase|get rid of
deletes|removes|erases|gets rid of
deleting|removing|erasing|getting rid of
deleted|removed|erased
computer|machine|laptop|pc|box
computers|machines|laptops|pcs
quick|rapid|speedy
quickly|rapidly|speedily|at speed
quicker|speedier
faster|more quickly|more rapidly
slow|sluggish
slowly|sluggishly
slower|more slowly|more sluggish
explain|clarify|make clear
explains|clarifies|makes clear
explained|clarified|made clear
explaining|clarifying
explanation|clarification
understand|grasp|comprehend
understands|grasps|comprehends
understood|grasped|comprehended
understanding|grasping|comprehending
begin|commence
begins|commences
purchase|buy|acquire
want|wish|would like
wants|wishes|would like
wanted|wished
needed|required|necessary
need to|have to|must|ought to
needs to|has to|must
happen|occur|take place
happens|occurs|takes place|goes on
happened|occurred|took place
happening|occurring|taking place|going on
choose|select|pick
chooses|selects|picks
chose|picked
choosing|selecting|picking
chosen|selected|picked
big|large|sizeable
bigger|larger
biggest|largest
little|small|tiny
smaller|tinier
smallest|tiniest|littlest
huge|enormous|gigantic|giant|massive
difficult|tough|tricky
easy|simple|effortless
easily|simply|without effort|without trouble
easier|simpler
easiest|simplest
usual|common|customary
usually|normally|generally|as a rule|in general
often|frequently|many times|a lot of times
sometimes|at times|now and then|once in a while|occasionally
always|every time|all the time|at all times
never|at no time|not ever
rarely|seldom|hardly ever
maybe|perhaps|possibly
really|truly|actually|in fact|genuinely
exactly|precisely
probably|most likely|in all likelihood
completely|totally|entirely|fully
nearly|almost|just about
approximately|roughly
only|merely|solely
also|as well
but|however|yet
because|since
therefore|so|hence
although|though|even though
instead of|rather than|in place of
immediately|at once|right away|straight away|instantly
suddenly|all of a sudden|out of the blue|abruptly
currently|at the moment|at present|right now|presently
recently|lately
finally|at last|in the end|eventually
later|afterwards|later on
at the same time|simultaneously|in parallel
again|once more|one more time|anew
together|jointly
separately|on its own|apart
wrong|incorrect
properly|correctly|the right way
strange|odd|weird|peculiar
strangely|oddly|weirdly
important|significant|essential
interesting|intriguing|fascinating
useful|handy|helpful
useless|pointless|worthless
nice|pleasant|lovely
beautiful|pretty|gorgeous
terrible|awful|dreadful|horrible
great|excellent|superb|terrific
clever|smart|intelligent
stupid|dumb|silly|foolish
modern|up to date|recent
whole|entire|complete
different|distinct|dissimilar
similar|alike|comparable
same|identical
special|particular
strong|powerful|mighty
weak|feeble
cheap|inexpensive|low-cost
expensive|costly|pricey
free of charge|for free|at no cost|without paying
secure|safe
confidential|secret
broken|damaged|out of order
ready|prepared|all set
busy|occupied
tired|weary|exhausted
happy|glad|pleased
sad|unhappy
angry|mad|furious
confused|puzzled|baffled|bewildered
curious|inquisitive
certain|sure
lucky|fortunate
afraid|scared|frightened
worried|concerned|anxious
boring|dull|tedious
empty|blank
enough|sufficient
many|lots of|plenty of|a lot of
several|a number of|various
most of|the majority of|the bulk of
a bit|slightly|somewhat
part|portion
parts|portions|bits
piece|fragment|chunk
pieces|fragments|chunks
kind of|sort of|type of
kinds of|sorts of|types of
way|method|manner
ways|methods|manners
trick|knack
tricks|knacks
reason|cause|motive
reasons|causes|motives
result|outcome
results|outcomes
problem|issue|trouble|difficulty
problems|issues|troubles|difficulties
mistake|error|blunder|slip
mistakes|errors|blunders|slips
bug|defect|glitch
bugs|defects|glitches
question|query
questions|queries
answer|reply
answers|replies|responses
answered|replied|responded
answering|replying|responding
chat|conversation|dialogue
chats|conversations|dialogues
chatting|conversing|talking
said|stated|told me
mention|bring up|refer to
mentioned|brought up|referred to
ask|enquire
asked|enquired
text|writing|wording
sentence|phrase|line of text
sentences|phrases|lines of text
story|tale
stories|tales
picture|image
pictures|images
screen|display panel|monitor
screens|monitors
program|application|app|software|tool
programs|applications|apps|tools
folder|directory
folders|directories
file|document
files|documents
website|web site|web page|site
websites|web sites|web pages|sites
internet|web|net
online|on the internet|on the web
wifi|wi-fi|wireless
download|fetch
downloads|fetches
downloaded|fetched
downloading|fetching
install|set up
installed|set up properly
installing|setting up
save|store
saves|stores
saved|stored
saving|storing
copy|duplicate
copies|duplicates
copied|duplicated
modify|alter|change|adjust
modifies|alters|changes|adjusts
modified|altered|changed|adjusted
modifying|altering|changing|adjusting
construct|build
constructed|built
constructing|building
improve|better|enhance
improved|bettered|enhanced
improving|bettering|enhancing
increase|raise
increased|raised
increasing|raising
decrease|reduce|lower|cut down
decreased|reduced|lowered
decreasing|reducing|lowering
try|attempt
tries|attempts
tried|attempted
trying|attempting
use|employ|utilise|make use of
uses|employs|utilises|makes use of
used|employed|utilised
using|employing|utilising|making use of
working|functioning|operating
connect|link
connected|linked|hooked up
connection|link
discover|find out|learn
discovered|found out|learned
discovering|finding out|learning
find|locate|come across
finds|locates|comes across
found|located|came across
look for|search for|hunt for
looking for|searching for|hunting for
looked for|searched for|hunted for
look at|have a look at|take a look at
looking at|having a look at|taking a look at
see|notice|observe|spot
sees|notices|observes|spots
saw|noticed|observed|spotted
seen|noticed|observed|spotted
watch|keep an eye on
watching|keeping an eye on
think|believe|reckon|suppose
thinks|believes|reckons|supposes
thought|believed|reckoned|supposed
thinking|believing|reckoning
learn about|read up on|find out about
remember|recall|keep in mind
remembers|recalls|keeps in mind
remembered|recalled
remembering|recalling
forget|fail to remember|lose track of
forgets|fails to remember|loses track of
forgot|failed to remember|lost track of
allow|permit
allowed|permitted
permission|authorisation
avoid|prevent|keep away from
avoided|prevented
avoiding|preventing
continue|carry on|go on|keep going
continues|carries on|goes on|keeps going
continued|carried on|went on|kept going
vanish|disappear|go away
vanishes|disappears|goes away
vanished|disappeared|went away
vanishing|disappearing|going away
appear|show up|turn up|pop up
appears|shows up|turns up|pops up
appeared|showed up|turned up|popped up
appearing|showing up|turning up|popping up
wait|hold on|hang on
waiting|holding on|hanging on
waited|held on|hung on
turn on|switch on|enable|activate
turned on|switched on|enabled|activated
turning on|switching on|enabling|activating
turn off|switch off|disable|deactivate
turned off|switched off|disabled|deactivated
turning off|switching off|disabling|deactivating
press|hit|push
presses|hits|pushes
pressed|pushed
pressing|hitting|pushing
typed|keyed in
typing|keying in
hold down|keep pressed
holding down|keeping pressed
button|knob
buttons|knobs
shortcut|hotkey|key combination
shortcuts|hotkeys|key combinations
manual|handbook
instructions|directions
guidance|advice
listed|enumerated
compare|contrast
compared|contrasted
comparing|contrasting
difference|distinction
differences|distinctions
differ|vary
differs|varies
benefit|advantage|upside
benefits|advantages|upsides
drawback|disadvantage|downside
drawbacks|disadvantages|downsides
depends on|hinges on|is determined by
depend on|hinge on
belongs to|is part of
belong to|be part of
consists of|is made up of|is composed of
consist of|be made up of
contains|includes|holds
contain|include
containing|including
amount|quantity
amounts|quantities
limit|restriction|cap
limits|restrictions|caps
option|possibility
test out|try out|give a go
check whether|find out whether|see whether
check if|find out if|see if
is able to|is capable of being able to
are you able to|can you|could you
is it possible to|can i|could i
possible|feasible|doable
impossible|unfeasible|not possible
there is no|there isn't any
there are no|there aren't any
what is|what's
where is|where's
who is|who's
how is|how's
that is|that's
it is|it's
it has been|it's been
there is|there's
i am|i'm
i have been|i've been
i will|i'll
i would|i'd
you are|you're
you have to|you've got to|you must
they are|they're
we are|we're
do not|don't
does not|doesn't
did not|didn't
is not|isn't
are not|aren't
was not|wasn't
cannot|can't|can not|am unable to
could not|couldn't|was unable to
will not|won't
would not|wouldn't
should not|shouldn't
have not|haven't
has not|hasn't
want to|wanna|wish to|would like to
going to|gonna
let me|allow me to|permit me to
tell me|let me know|inform me
tell us|let us know|inform us
give me|hand me|provide me with|let me have
thanks|thank you|many thanks|cheers
hello|hi|hey|greetings
goodbye|bye|farewell|see you
please|kindly|if you please
sorry|apologies|my apologies
ok|okay|all right|alright
yes|yeah|yep|yup
everyone|everybody
someone|somebody
anyone|anybody
no one|nobody
everything|all of it
everywhere|all over the place
anywhere|in any place
for example|for instance|e.g.
such as|for instance like
in other words|that is to say|put differently
in simple words|in plain words|in simple terms|in layman's terms
at home|in my home|in my house
child|kid|youngster
children|kids|youngsters
man|guy|fellow|bloke
woman|lady
friend|pal|buddy|mate
friends|pals|buddies|mates
boss|manager|supervisor
colleague|coworker|workmate
colleagues|coworkers|workmates
teacher|instructor|tutor
pupil|student|learner
pupils|students|learners
beginner|newcomer|novice|newbie
expert|specialist|professional
people|folks|persons
job|occupation|profession
task|chore|assignment
tasks|chores|assignments
homework|school work|schoolwork
company|firm|business
money|cash
car|automobile|vehicle
road|street
holiday|vacation
journey|trip|voyage
meal|dish
doctor|physician
ill|sick|unwell
plane|aeroplane|airplane|aircraft
phone|telephone|mobile|smartphone
tv|television|telly
movie|film|motion picture
movies|films|motion pictures
song|tune
author|writer
war|armed conflict
garbage|rubbish|trash
gift|present
gifts|presents
forest|woods
stone|rock
stones|rocks
colour|color|hue|shade
colours|colors|hues|shades
coloured|colored|tinted
favourite|favorite|best-loved
dark mode|dark theme
font size|letter size|text size
letter by letter|one letter at a time
word by word|one word at a time
word for word|verbatim|literally
step by step|one step at a time|bit by bit
side by side|next to each other
made up|invented|fictional
how come|why is it that
what for|for what purpose
how long|how much time
how often|how frequently
how much does it|to what extent does it
at all|in any way
so far|until now|up to now
in total|altogether|all in all
at the end|at the close
at the start|at the outset|in the beginning
at the top|up top
at the bottom|down below|right at the foot
on the left|at the left|on the left-hand side
on the right|at the right|on the right-hand side
by accident|accidentally|by mistake|unintentionally
on purpose|deliberately|intentionally
by itself|of its own accord|on its own initiative
by hand|manually
automatically|by itself automatically|without me doing anything
briefly|in short|in a nutshell|in brief
in detail|at length|thoroughly
a while|some time|a moment
a minute|a moment or two|a sec
every day|daily|each day
every week|weekly|each week
nowadays|these days
good at|skilled at|clever at
bad at|poor at|hopeless at
fond of|keen on
i like|i enjoy|i am fond of
i love|i adore|i really like
i hate|i can't stand|i detest
i guess|i suppose|i imagine
i wonder|i ask myself|i would like to know
i was wondering|i was asking myself|i have been wondering
i heard|i was told|people say|i have heard
i read|i have read|i came across
i tried to|i attempted to|i wanted to
does it matter|is it important|does it make a difference
what about|how about
stuck|jammed
freezes|hangs|locks up
froze|hung|locked up
frozen|hung up|locked up
crash|break down|fall over
crashes|breaks down|falls over
crashed|broke down|fell over
fail|go wrong
fails|goes wrong
failed|went wrong
annoying|irritating|bothersome
noise|racket
proof|evidence
opinion|point of view
idea|notion
ideas|notions
example|sample|specimen
examples|samples|specimens
summary|overview|recap
detail|particular point
rule of thumb|rough guide
nonsense|gibberish|rubbish talk
magic|sorcery|wizardry
science|scientific study
math|maths|arithmetic
neat|tidy
fancy|elaborate
by the way|incidentally|while we are at it
create|produce|generate
created|produced|generated
creates|produces|generates
creating|producing|generating
whether or not|whether
every single|each and every
pc screen|computer screen
close to|near to
next to|beside
outside|outdoors
everyday|ordinary daily
over and over|again and again|repeatedly
sum up|wrap up|recapitulate
talk to|speak to|chat with
talking to|speaking to|chatting with
talks to|speaks to|chats with
speak about|talk about
laugh|giggle
cry|weep
shout|yell
begin with|start off with
at first|to begin with|initially
very|extremely|awfully
super|incredibly
"""


def _groups() -> tuple[tuple[str, ...], ...]:
    """Every phrase belongs to the first group that names it, so that no meaning drifts from one group into the next."""
    taken: set[str] = set()
    groups = []
    for line in _LINES.strip().splitlines():
        group = tuple(phrase for phrase in line.split("|") if phrase not in taken)
        taken.update(group)
        if len(group) > 1:
            groups.append(group)
    return tuple(groups)


SYNONYMS: tuple[tuple[str, ...], ...] = _groups()
_GROUP_OF = {phrase: group for group in SYNONYMS for phrase in group}


def _trie(phrases: list[str]) -> str:
    """A regular expression for any of the phrases, the longest first, sharing what begins alike."""
    if phrases == [""]:
        return ""
    heads: dict[str, list[str]] = {}
    for phrase in phrases:
        if phrase:
            heads.setdefault(phrase[0], []).append(phrase[1:])
    branches = [re.escape(head) + _trie(rest) for head, rest in heads.items()]
    body = branches[0] if len(branches) == 1 and "" not in phrases else f"(?:{'|'.join(branches)})"
    return body + ("?" if "" in phrases else "")


_FOUND = re.compile(
    r'"[^"]*"|`[^`]*`|(?<![\w/+.\'-])(?:(an?) )?(' + _trie(sorted(_GROUP_OF)) + r")(?![\w+/-]|'[a-z]|\.\w)",
    re.IGNORECASE,
)


def reworded(text: str, rng: Random, chance: float) -> str:
    """The text with some of its words, each with that chance, put in another way; what stands in quotes or backticks stays."""
    draw = rng.random

    def other(match: re.Match[str]) -> str:
        old = match[2]
        if old is None or draw() >= chance:
            return match[0]
        group = _GROUP_OF[old.lower()]
        new = group[int(draw() * (len(group) - 1))]
        if new == old.lower():
            new = group[-1]
        if "'" in new and not text[match.end() :].startswith(" "):
            return match[0]
        article = match[1]
        if article:
            sound = "an" if new[0] in "aeiou" and not new.startswith(("use", "uni", "one", "uti")) else "a"
            return (sound.capitalize() if article[0] == "A" else sound) + " " + new
        return new[0].upper() + new[1:] if old[0].isupper() else new

    return _FOUND.sub(other, text)
