"""Writes a story, revises it until a person accepts it, and has it reviewed.

Run it with `tactician run examples/write_and_review_with_feedback.py "a robot that learns to paint"`: it asks what you
think of the story. With `--store stories.db` it can be asked for days later, by `tactician ps`, and answered then.
"""

from dataclasses import dataclass

from pydantic import BaseModel, Field

from tactician import Ai, LlmOptions, UserInput, achieves_goal, action, ask_human, planned_agent, state

WRITER = "You are a creative writer who aims to delight and surprise."
REVIEWER = "You review books for a newspaper, in one paragraph."


class Story(BaseModel):
    text: str


class Feedback(BaseModel):
    accepted: bool = Field(description="the story may stay as it is")
    comments: str = Field(default="", description="what to change", max_length=500)


class ReviewedStory(BaseModel):
    story: Story
    review: str

    def __str__(self) -> str:
        return f"{self.story.text}\n\n--- Review ---\n{self.review}"


@state
@dataclass(frozen=True)
class Stage:
    """A phase of the work. Entering one leaves nothing else on the blackboard, so it carries all that is needed."""

    subject: str
    story: Story


@dataclass(frozen=True)
class Assess(Stage):
    @action
    async def get_feedback(self) -> Feedback:
        """Asks a person."""
        return await ask_human(Feedback, f"What do you think of this story?\n\n{self.story.text}\n")

    @action
    def assess(self, feedback: Feedback) -> "Accepted | Revise":
        """Decides what comes next."""
        if feedback.accepted:
            return Accepted(self.subject, self.story)
        return Revise(self.subject, self.story, feedback.comments)


@dataclass(frozen=True)
class Revise(Stage):
    comments: str

    @action
    async def revise_story(self, ai: Ai) -> Assess:
        """Writes the story again, as the person wishes."""
        text = await writer(ai).generate_text(
            f"Rewrite this story about {self.subject}:\n\n{self.story.text}\n\nWhat to change: {self.comments}"
        )
        return Assess(self.subject, Story(text=text))


@dataclass(frozen=True)
class Accepted(Stage):
    @achieves_goal("A person has accepted the story, and it has been reviewed")
    @action
    async def review_story(self, ai: Ai) -> ReviewedStory:
        """Reviews the story."""
        reviewer = ai.with_llm(LlmOptions(temperature=0.2, max_tokens=150)).with_system_prompt(REVIEWER)
        review = await reviewer.generate_text(f"Review this story about {self.subject}:\n\n{self.story.text}")
        return ReviewedStory(story=self.story, review=review)


@planned_agent(description="Writes a short story, revises it until a person accepts it, and reviews it")
class WriteAndReviewWithFeedback:
    def __init__(self, word_count: int = 80) -> None:
        self.word_count = word_count

    @action
    async def craft_story(self, user_input: UserInput, ai: Ai) -> Assess:
        """Writes the first draft."""
        subject = user_input.content
        text = await writer(ai).generate_text(f"Craft a short story in about {self.word_count} words about: {subject}")
        return Assess(subject, Story(text=text))


def writer(ai: Ai) -> Ai:
    return ai.with_llm(LlmOptions(temperature=0.9, max_tokens=300)).with_system_prompt(WRITER)


agent = WriteAndReviewWithFeedback()
