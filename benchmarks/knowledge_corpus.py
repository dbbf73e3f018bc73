"""A corpus of 300 documents with 200 questions whose answers are known: manuals, API pages and tables.

Everything comes from lists of words and a seed. Documents are like each other on purpose: a hundred devices have the
same chapters, so that a search has to find the right device and the right chapter. A third of the questions name things
as the documents do, a third say the same in other words, and a third do both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

SEED = 7
DOCUMENTS = 300
QUESTIONS = 200


@dataclass(frozen=True)
class CorpusDocument:
    """A document as Markdown."""

    name: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question, and where its answer is.

    Attributes:
        text: the question.
        document: the name of the document with the answer.
        answer: words that the passage with the answer has, and no other passage of that document.
        style: `exact`, `paraphrase` or `mixed`.
    """

    text: str
    document: str
    answer: str
    style: str


@dataclass(frozen=True)
class Corpus:
    documents: tuple[CorpusDocument, ...]
    questions: tuple[Question, ...]


# A kind of device as manuals call it, and as somebody calls it who does not know the word.
DEVICES = [
    ("electric kettle", "water boiler"), ("dishwasher", "machine for dirty dishes"), ("vacuum cleaner", "hoover"),
    ("refrigerator", "fridge"), ("lawn mower", "grass cutter"), ("hair dryer", "hair blower"),
    ("toaster", "bread grill"), ("coffee grinder", "coffee mill"), ("desk lamp", "table light"),
    ("air purifier", "air cleaner"), ("washing machine", "laundry machine"), ("humidifier", "air moistener"),
    ("garden pump", "water pump"), ("sewing machine", "stitching machine"), ("electric drill", "power drill"),
    ("ceiling fan", "ventilator"), ("document scanner", "paper scanner"), ("baby monitor", "infant alarm"),
    ("bicycle lock", "bike lock"), ("smoke alarm", "fire detector"),
]  # fmt: skip
BRANDS = ["Orvik", "Tessaly", "Brumaro", "Kelvane", "Nordhus"]
# A chapter: its title, its text, a question in its words, a question in other words, and the words of the answer.
CHAPTERS = [
    (
        "Warranty",
        "The manufacturer grants a guarantee of {a} months from the date of purchase. Wear parts are excluded.",
        "How many months is the guarantee of the {name}?",
        "For how long is a defective {thing} by {brand} repaired for free after I buy it?",
        "guarantee of {a} months",
    ),
    (
        "Cleaning",
        "Wipe the housing with a damp cloth every {a} days. Do not use solvents or abrasive powder.",
        "Every how many days should the housing of the {name} be wiped?",
        "How often must I clean the outside of my {brand} {thing}?",
        "every {a} days",
    ),
    (
        "Power supply",
        "Connect the appliance to a socket of 230 volts. The power consumption is {a} watts in operation.",
        "What is the power consumption of the {name} in watts?",
        "How much electricity does the {thing} from {brand} use?",
        "{a} watts in operation",
    ),
    (
        "Fault codes",
        "The display shows E{a} when the temperature sensor has failed. Switch off and call the service.",
        "What does the fault code E{a} of the {name} mean?",
        "Which error number does a {brand} {thing} report for a broken thermometer?",
        "shows E{a}",
    ),
    (
        "Storage",
        "Store the appliance in a dry place between {b} and {a} degrees. Empty all containers beforehand.",
        "Between which degrees should the {name} be stored?",
        "How cold may the room be in which I keep my {brand} {thing} during winter?",
        "{b} and {a} degrees",
    ),
    (
        "Disposal",
        "At the end of its life, bring the appliance to a collection point. The mark {a}-WEEE is on the rear.",
        "Which mark is on the rear of the {name}?",
        "Where can I throw away an old {thing} of {brand} as waste?",
        "mark {a}-WEEE",
    ),
]
# What a function does: its verb and object, a sentence, and the same as a question in other words.
VERBS = [
    ("purge", "Removes {o} that are no longer valid.", "delete outdated {s}"),
    ("merge", "Combines two {o} into a single one, keeping the newer fields.", "unite duplicate {s}"),
    ("export", "Writes {o} to a file in a format that other programs read.", "save {s} and open them elsewhere"),
    ("throttle", "Limits how often {o} are accepted in a second.", "slow down too many {s}"),
    ("restore", "Brings back {o} from the last backup.", "recover lost {s}"),
    ("encrypt", "Makes {o} unreadable without a key.", "keep {s} secret from strangers"),
    ("archive", "Moves {o} that are older than a year to cheap storage.", "put away ancient {s}"),
    ("validate", "Checks {o} against the rules of the schema.", "find mistakes in {s}"),
    ("schedule", "Plans {o} for a later time.", "postpone {s} until tomorrow"),
    ("translate", "Turns the text of {o} into another language.", "read foreign {s}"),
]  # fmt: skip
OBJECTS = [
    ("sessions", "logins"), ("invoices", "bills"), ("shipments", "parcels"), ("employees", "staff members"),
    ("recordings", "audio clips"), ("contracts", "agreements"), ("photographs", "pictures"), ("vehicles", "cars"),
    ("prescriptions", "medicine orders"), ("reservations", "bookings"),
]  # fmt: skip
SUBJECTS = [
    ("screws", ("length", "mm")), ("cables", ("cross section", "mm2")), ("paints", ("drying time", "minutes")),
    ("batteries", ("capacity", "mAh")), ("gaskets", ("pressure", "bar")), ("bearings", ("load", "kN")),
    ("filters", ("flow", "litres")), ("resistors", ("resistance", "ohms")), ("ropes", ("breaking load", "kg")),
    ("adhesives", ("pot life", "hours")),
]  # fmt: skip
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


def make_corpus(seed: int = SEED) -> Corpus:
    """Return the corpus, which is the same for the same seed."""
    random = Random(seed)
    made = [*_make_manuals(random), *_make_functions(random), *_make_tables(random)]
    documents = tuple(document for document, _ in made)
    asked: dict[str, list[Question]] = {"exact": [], "paraphrase": [], "mixed": []}
    for _, questions in made:
        for question in questions:
            asked[question.style].append(question)
    counts = {"exact": 67, "paraphrase": 67, "mixed": 66}
    chosen = [question for style, count in counts.items() for question in random.sample(asked[style], count)]
    return Corpus(documents, tuple(chosen))


def _make_manuals(random: Random) -> Iterator[tuple[CorpusDocument, list[Question]]]:
    for kind, thing in DEVICES:
        for brand in BRANDS:
            model = f"{random.choice(LETTERS)}{random.choice(LETTERS)}{random.randint(100, 999)}"
            name, document = f"{brand} {model}", f"manual-{brand}-{model}.md".lower()
            parts = [f"# {brand} {kind} {model}\n\nThese instructions are for the {kind} {name}. Keep them."]
            questions = []
            for title, text, exact, paraphrase, answer in CHAPTERS:
                values = {
                    "a": random.randint(11, 99),
                    "b": random.randint(1, 9),
                    "name": name,
                    "brand": brand,
                    "thing": thing,
                }
                parts.append(f"## {title}\n\n{text.format(**values)} {_pad(random)}")
                words = answer.format(**values)
                questions.append(Question(exact.format(**values), document, words, "exact"))
                questions.append(Question(paraphrase.format(**values), document, words, "paraphrase"))
                mixed = f"{name}: {paraphrase.format(**values)}"
                questions.append(Question(mixed, document, words, "mixed"))
            yield CorpusDocument(document, "\n\n".join(parts)), questions


def _make_functions(random: Random) -> Iterator[tuple[CorpusDocument, list[Question]]]:
    for verb, sentence, wish in VERBS:
        for noun, synonym in OBJECTS:
            name, limit = f"{verb}_{noun}", random.randint(11, 99)
            says = sentence.format(o=noun)
            text = (
                f"# {name}\n\n{says}\n\n## Parameters\n\n| name | type | default |\n|---|---|---|\n"
                f"| batch | int | {limit} |\n| dry_run | bool | false |\n\n## Errors\n\n"
                f"Raises `{noun.title()}Error` with status {400 + limit} when the store is read only. "
                f"{_pad(random)}\n\n"
                f"## Example\n\n```python\nawait client.{name}(batch={limit})\n```\n"
            )
            document = f"api-{name}.md"
            yield (
                CorpusDocument(document, text),
                [
                    Question(f"What is the default of batch in {name}?", document, f"| batch | int | {limit}", "exact"),
                    Question(f"Which status has the error of {name}?", document, f"status {400 + limit}", "exact"),
                    Question(f"How can I {wish.format(s=synonym)}?", document, says, "paraphrase"),
                    Question(f"Is there a client function to {wish.format(s=noun)}?", document, says, "mixed"),
                ],
            )


def _make_tables(random: Random) -> Iterator[tuple[CorpusDocument, list[Question]]]:
    for subject, (property_, unit) in SUBJECTS:
        for number in range(10):
            series = f"{random.choice(LETTERS)}{random.choice(LETTERS)}{number}"
            rows, questions = [], []
            document = f"table-{subject}-{series}.md".lower()
            for part in range(20):
                code, value = f"{series}-{random.randint(1000, 9999)}", random.randint(101, 999)
                shelf = f"{random.choice(LETTERS)}{random.randint(10, 99)}"
                rows.append(f"| {code} | {value} {unit} | {shelf} |")
                if part % 7 == 0:
                    questions.append(Question(f"{property_} of {code}", document, f"| {code} |", "exact"))
                    asked = f"On which shelf do I find the {subject[:-1]} with the order number {code}?"
                    questions.append(Question(asked, document, f"| {code} |", "mixed"))
            head = f"| order number | {property_} | shelf |\n|---|---|---|"
            text = f"# Stock of {subject}, series {series}\n\n{_pad(random)}\n\n## List\n\n{head}\n" + "\n".join(rows)
            yield CorpusDocument(document, text), questions


PADDING = [
    "Read this page before you begin.", "Further advice is on our website.", "Details may change without notice.",
    "Ask your dealer when in doubt.", "Local rules may say otherwise.", "Pictures are similar to the product.",
    "Keep children away from the packaging.", "Prices are without tax.", "Translations are made with care.",
    "The service team is there on working days.", "Spare parts are sold separately.", "Errors are possible.",
]  # fmt: skip


def _pad(random: Random) -> str:
    return " ".join(random.sample(PADDING, 4))
