"""Writes a story, reviews it, and shows both.

Run it with `tactician run examples/write_and_review.py "a robot that learns to paint"`.
"""

from pydantic import BaseModel

from tactician import Ai, LlmOptions, UserInput, achieves_goal, action, planned_agent


class Story(BaseModel):
    text: str


class ReviewedStory(BaseModel):
    story: Story
    review: str

    def __str__(self) -> str:
        return f"{self.story.text}\n\n--- Review ---\n{self.review}"


@planned_agent(description="Writes a short story about a subject, and reviews it")
class WriteAndReview:
    def __init__(self, word_count: int = 80) -> None:
        self.word_count = word_count

    @action
    async def craft_story(self, user_input: UserInput, ai: Ai) -> Story:
        """Writes the story, with imagination."""
        writer = ai.with_llm(LlmOptions(temperature=0.9, max_tokens=300)).with_system_prompt(
            "You are a creative writer who aims to delight and surprise."
        )
        return Story(
            text=await writer.generate_text(
                f"Craft a short story in about {self.word_count} words about: {user_input.content}"
            )
        )

    @achieves_goal("The story has been crafted and reviewed by an editor")
    @action
    async def review_story(self, user_input: UserInput, story: Story, ai: Ai) -> ReviewedStory:
        """Reviews the story, strictly."""
        editor = ai.with_llm(LlmOptions(temperature=0.2, max_tokens=150)).with_system_prompt(
            "You are a meticulous editor. You review in one paragraph."
        )
        review = await editor.generate_text(
            f"Review this story, which was to be about {user_input.content!r}:\n\n{story.text}"
        )
        return ReviewedStory(story=story, review=review)


agent = WriteAndReview()
