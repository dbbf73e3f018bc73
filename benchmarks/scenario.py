"""What every client is asked and must answer: shared by the mock server and the clients, so standard library only."""

MODEL = "gpt-4o-mini"
API_KEY = "unused"
INSTRUCTIONS = "You answer questions about the weather in one sentence."
PROMPT = "What is the weather in Paris?"

TOOL = "get_weather"
TOOL_DESCRIPTION = "Look up the weather in a city."
CITY = "Paris"
TOOL_REPLY = f"Sunny in {CITY}, 21 degrees"

PLAIN_ANSWER = "I cannot look it up, but it is often mild."
TOOL_ANSWER = "It is sunny and 21 degrees."
LOST_ANSWER = "The tool's reply did not arrive."

STAFF = (("Researcher", "Find facts that can be checked"), ("Writer", "Write what everybody understands"))
TASKS = ("Research the weather in {topic}", "Write a report about it")

STREAM_TOKENS = 500
TOKENS = [f" word{number}" for number in range(STREAM_TOKENS)]
STREAM_ANSWER = "".join(TOKENS)

ANSWERS = {
    "plain": PLAIN_ANSWER,
    "tool": TOOL_ANSWER,
    "agents": PLAIN_ANSWER,
    "pair": PLAIN_ANSWER,
    "generate": PLAIN_ANSWER,
    "stream": STREAM_ANSWER,
}
CONCURRENCIES = (1, 100)
ALONE = {"agents", "pair", "stream"}  # measured one at a time only
