"""Pools of words. They are here to be varied, not known: the networks learn to handle words, copy them and admit ignorance of them."""

from __future__ import annotations

from random import Random

ANIMALS = """fox cat dog owl turtle bear wolf rabbit mouse hedgehog otter badger squirrel deer frog heron crow sparrow penguin whale dolphin
elephant lion tiger giraffe monkey camel donkey horse goat sheep cow pig duck goose swan hen parrot pigeon robin eagle raven seal crab
snail beetle butterfly bee ant spider lizard snake crocodile koala kangaroo panda mole bat moose lynx stork salmon octopus""".split()
PEOPLE = """girl boy baker sailor teacher farmer painter tailor gardener carpenter shepherd fisherman librarian postman doctor nurse king
queen prince princess knight wizard witch pirate astronaut clockmaker miller blacksmith musician poet inventor grandmother grandfather
child student traveller beekeeper lighthouse-keeper train-driver weaver""".split()
CREATURES = "robot dragon ghost giant mermaid unicorn troll goblin fairy snowman scarecrow phoenix gnome elf monster puppet".split()
NAMES = """Ada Anna Ben Bella Carl Clara Dan Dora Emil Emma Finn Flora Gus Greta Hugo Hanna Ian Ida Jack Jane Kai Kate Leo Lena Max Mia Nils
Nora Otto Olga Paul Pia Quinn Rosa Sam Sara Tom Tina Udo Uma Vera Viktor Will Wanda Yara Zoe Alice Bob Carol David Eva Frank Grace Henry
Irene John Karen Linda Maria Nick Oscar Peter Rita Simon Tara Walter Yusuf Amira Chen Diego Fatima Hiro Ivan Juan Kofi Lucia Mei Omar Priya
Ravi Sofia Tariq Ling Noah Liam Oliver Lucas Amelia Isla Freya Elena Marco Pedro Ines""".split()
CITIES = """Paris London Berlin Madrid Rome Vienna Oslo Lisbon Dublin Prague Athens Cairo Lima Quito Tokyo Delhi Seoul Sydney Toronto Boston
Chicago Denver Dallas Lagos Nairobi Accra Moscow Warsaw Zurich Geneva Munich Hamburg Milan Naples Turin Porto Seville Bergen Helsinki
Stockholm Copenhagen Brussels Amsterdam Budapest Istanbul Beijing Shanghai Mumbai Bangkok Hanoi Manila Jakarta Havana Bogota Santiago""".split()
COUNTRIES = """France Germany Spain Italy Austria Norway Portugal Ireland Greece Egypt Peru Ecuador Japan India Korea Australia Canada Mexico
Brazil Argentina Chile Nigeria Kenya Ghana Russia Poland Switzerland Sweden Denmark Finland Belgium Hungary Turkey China Thailand Vietnam
Cuba Colombia Morocco Iceland Estonia Latvia Croatia Serbia Bulgaria Romania Ukraine Mongolia Nepal Bolivia Uruguay Jamaica Madagascar""".split()
LANGUAGES = """French German Spanish Italian Norwegian Portuguese Greek Arabic Japanese Hindi Korean Russian Polish Swedish Danish Finnish Dutch
Hungarian Turkish Chinese Mandarin Thai Vietnamese Latin Hebrew Swahili Czech Welsh Irish Ukrainian Romanian Bengali Persian""".split()
COLOURS = """red blue green yellow orange purple pink brown black white grey silver golden turquoise violet crimson teal ivory amber indigo
scarlet beige maroon olive""".split()
FOODS = """apple bread cheese soup rice pasta pizza salad cake butter honey milk tea coffee juice orange lemon banana cherry plum pear grape
carrot potato onion garlic tomato bean pea corn pepper salt sugar flour egg fish chicken beef lamb pie pancake lasagne curry sushi stew
omelette risotto biscuit waffle pudding noodles dumplings mushroom spinach cabbage""".split()
THINGS = """table chair lamp window door house garden river bridge mountain forest lake sea island road street town village castle tower
market school church shop train boat ship car bicycle plane engine wheel clock watch mirror picture book letter paper pencil pen bag box
basket bottle cup plate spoon knife fork bowl candle fire stone rock sand snow rain wind cloud storm sun moon star sky leaf tree flower
grass seed root branch feather egg shell rope key lock coin ring crown sword shield flag drum bell piano violin guitar
dream night morning evening winter summer spring autumn shadow light voice hand foot head heart eye ear nose face hair coat hat shoe glove
scarf blanket pillow bed roof wall floor stair kitchen cellar attic fence gate field hill valley desert ocean beach harbour planet rocket
camera radio phone screen keyboard printer battery cable magnet needle thread button pocket ladder hammer nail saw brush bucket kite ball
doll puzzle lantern compass map barrel anchor wagon tunnel fountain statue museum library station airport hotel office factory hospital
theatre cinema stadium pavement carpet curtain cupboard drawer fridge oven kettle teapot sofa shelf vase""".split()
VERBS = """walk run jump swim fly climb dance sing laugh cry sleep wake eat drink cook bake read write draw paint build break open close
push pull carry throw catch find lose buy sell give take bring send keep hide seek learn teach think dream wait watch listen speak shout
whisper play work rest travel wander sail drive ride plant grow dig cut mend sew wash clean sweep count measure weigh mix pour melt freeze
burn shine fall rise turn roll fold knock ring fix repair install clean remove replace train feed choose plan""".split()
ADJECTIVES = """small big old new young tall short long wide thin thick heavy light dark bright quiet loud soft hard warm cold hot wet dry
clean dirty empty full open deep high low fast slow strong weak brave shy kind proud wise clever silly lazy hungry thirsty tired happy sad
angry calm gentle wild strange plain simple lovely lonely broken hidden secret golden wooden round square sharp smooth rough sweet sour
bitter fresh cheap modern ancient early late busy lucky curious honest careful patient friendly""".split()
SUBJECTS = """quantum mechanics|black holes|photosynthesis|inflation|the French Revolution|the Roman Empire|evolution|gravity|relativity|
democracy|climate change|blockchain|bitcoin|the stock market|mortgages|taxes|insurance|yoga|meditation|football|chess|cricket|tennis|golf|
basketball|the Olympics|jazz|opera|hip hop|Mozart|Beethoven|Shakespeare|Napoleon|Einstein|Cleopatra|Julius Caesar|Marie Curie|Isaac Newton|
Leonardo da Vinci|Picasso|Gandhi|Nelson Mandela|Abraham Lincoln|Elvis Presley|Madonna|Taylor Swift|Lionel Messi|Elon Musk|the Beatles|
Star Wars|Harry Potter|Hamlet|the Bible|Buddhism|philosophy|Plato|Kant|psychology|Freud|economics|chemistry|biology|physics|algebra|geometry|
calculus|statistics|dinosaurs|volcanoes|earthquakes|the solar system|Mars|Jupiter|the moon landing|vaccines|antibiotics|diabetes|cancer|
vitamins|protein|migraine|blood pressure|the heart|the brain|DNA|bacteria|viruses|electricity|magnetism|nuclear power|solar panels|
electric cars|diesel engines|airplanes|submarines|bridges|architecture|gothic cathedrals|the pyramids|the Great Wall|World War Two|
the Cold War|the Vikings|the Middle Ages|feudalism|capitalism|socialism|elections|parliament|the constitution|human rights|immigration|
marketing|accounting|leadership|job interviews|fashion|perfume|gardening|roses|composting|beekeeping|fishing|sailing|hiking|camping|skiing|
surfing|knitting|pottery|photography|origami|juggling|magic tricks|crosswords|sudoku|poker|bridge|astrology|tarot|feng shui|mythology|Zeus|
Thor|vampires|Atlantis|Bigfoot|sharks|whales|coral reefs|rainforests|deserts|glaciers|tornadoes|rainbows|thunder|salt|iron|gold|diamonds|
coffee|chocolate|wine|beer|cheese|sourdough|veganism|sleep|dreams|memory|love|friendship|happiness|grief|parenting|toddlers|puppies|
Kubernetes|Docker|Excel|Photoshop|JavaScript|Rust|Haskell|Java|SQL|Linux|Windows|the internet|Wi-Fi|Bluetooth|TCP|encryption|compilers|
operating systems|databases|neural networks|robotics|3D printing|drones|satellites|GPS|the periodic table|entropy|thermodynamics|string theory|
prime numbers|the Pythagorean theorem|fractals|infinity|game theory|supply and demand|unemployment|recycling|plastic|oil|coal|hydrogen"""
SUBJECTS = [subject.strip() for subject in SUBJECTS.replace("\n", "").split("|")]
COMMON = sorted({*ANIMALS, *PEOPLE, *CREATURES, *COLOURS, *FOODS, *THINGS, *VERBS, *ADJECTIVES})

ONSETS = "b c d f g h j k l m n p r s t v w z br cl dr fl gr pl st tr sh ch th sn sk qu".split() + ["", ""]
VOWELS = "a e i o u a e i o u ai ee oa ou ie".split()
CODAS = "n r l s t m d k p g x nd rt sk st mp ng ck ll".split() + ["", "", ""]


def invented(rng: Random) -> str:
    """A word nobody has seen, spelled like a word."""
    syllables = rng.choice((1, 2, 2, 2, 3, 3))
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(syllables))


def scrambled(rng: Random) -> str:
    """Letters and perhaps digits without sense, like an identifier."""
    alphabet = rng.choice(("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnpqrstuvwxyz0123456789"))
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(2, 7)))


def noun(rng: Random) -> str:
    """Mostly a common noun, now and then an invented one."""
    return invented(rng) if rng.random() < 0.12 else rng.choice(rng.choice((ANIMALS, PEOPLE, CREATURES, FOODS, THINGS, THINGS)))


def word(rng: Random) -> str:
    """Any word at all, so that copying is learned as an act and not as a list."""
    chance = rng.random()
    if chance < 0.62:
        return rng.choice(COMMON)
    if chance < 0.72:
        return rng.choice(rng.choice((NAMES, CITIES, COUNTRIES, LANGUAGES)))
    if chance < 0.93:
        return invented(rng)
    return scrambled(rng)
