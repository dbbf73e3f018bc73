"""Finds news for a person's star sign, and makes fun of both.

Run it with `tactician run examples/star_news.py "Lynda is a Scorpio, find news for her"`.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from tactician import Ai, LlmOptions, UserInput, achieves_goal, action, planned_agent, tool

ARTICLES = Path(__file__).parent / "articles"


class Sign(StrEnum):
    ARIES = "Aries"
    TAURUS = "Taurus"
    GEMINI = "Gemini"
    CANCER = "Cancer"
    LEO = "Leo"
    VIRGO = "Virgo"
    LIBRA = "Libra"
    SCORPIO = "Scorpio"
    SAGITTARIUS = "Sagittarius"
    CAPRICORN = "Capricorn"
    AQUARIUS = "Aquarius"
    PISCES = "Pisces"


class StarPerson(BaseModel):
    name: Annotated[str, Field(max_length=40)]
    sign: Sign


class Horoscope(BaseModel):
    summary: str


class NewsStory(BaseModel):
    title: Annotated[str, Field(max_length=120)]


class NewsStories(BaseModel):
    items: Annotated[list[NewsStory], Field(min_length=1, max_length=3)]


class Writeup(BaseModel):
    text: str

    def __str__(self) -> str:
        return self.text


class HoroscopeService:
    """An ordinary service: no model is needed to look something up."""

    _TABLE: ClassVar = {
        Sign.ARIES: "Begin something bold, and read the instructions afterwards.",
        Sign.TAURUS: "Patience pays: a garden, a bank or a soup is about to prove it.",
        Sign.GEMINI: "Two invitations, one evening. A train may settle it.",
        Sign.CANCER: "Home is where the bread is. Bring a bowl.",
        Sign.LEO: "An audience is waiting, and it is on your side.",
        Sign.VIRGO: "Mend one thing today; it will mend the day.",
        Sign.LIBRA: "A quarrel ends well if everybody has something to do with their hands.",
        Sign.SCORPIO: "A secret comes to light, and passion finds a patient use.",
        Sign.SAGITTARIUS: "Adventure leaves on time. Be on the platform.",
        Sign.CAPRICORN: "Steps add up: a hundred and sixty-four of them, say.",
        Sign.AQUARIUS: "Look the wrong way; that is where the comet is.",
        Sign.PISCES: "Music in the dark is still music.",
    }

    def today(self, sign: Sign) -> str:
        return self._TABLE[sign]


@tool
def search_news(topic: str) -> list[str]:
    """Search today's articles.

    Args:
        topic: a few words to look for, such as "adventure" or "love"
    """
    wanted = set(topic.lower().split())
    texts = [path.read_text(encoding="utf-8") for path in sorted(ARTICLES.glob("*.md"))]
    ranked = sorted(texts, key=lambda text: -sum(word in text.lower() for word in wanted))
    return [text.splitlines()[0].lstrip("# ") for text in ranked[:3]]


@planned_agent(description="Finds news for a person's star sign and writes an amusing text about them")
class StarNewsFinder:
    def __init__(self, horoscopes: HoroscopeService, story_count: int = 2) -> None:
        self.horoscopes = horoscopes
        self.story_count = story_count

    @action
    async def extract_person(self, user_input: UserInput, ai: Ai) -> StarPerson:
        """Finds out who it is about."""
        return await ai.create(StarPerson, f"Extract the person's name and star sign: {user_input.content}")

    @action
    def read_horoscope(self, person: StarPerson) -> Horoscope:
        """Looks up the horoscope; no model is asked."""
        return Horoscope(summary=self.horoscopes.today(person.sign))

    @action
    async def find_news(self, person: StarPerson, horoscope: Horoscope, ai: Ai) -> NewsStories:
        """Searches today's articles for stories that suit the horoscope."""
        return await ai.with_tools(search_news).create(
            NewsStories,
            f"{person.name} is a {person.sign}. The horoscope says: {horoscope.summary}\n"
            f"Search the news, then choose {self.story_count} stories from the results that suit it.",
        )

    @achieves_goal("Write an amusing text from horoscope and news")
    @action
    async def write_up(self, person: StarPerson, stories: NewsStories, horoscope: Horoscope, ai: Ai) -> Writeup:
        """Writes the text."""
        news = "\n".join(f"- {story.title}" for story in stories.items)
        text = await ai.with_llm(LlmOptions(temperature=0.9, max_tokens=200)).generate_text(
            f"Write something short and amusing for {person.name}, a {person.sign}, about today's horoscope and news.\n"
            f"Horoscope: {horoscope.summary}\nNews:\n{news}"
        )
        return Writeup(text=text)


agent = StarNewsFinder(HoroscopeService())
