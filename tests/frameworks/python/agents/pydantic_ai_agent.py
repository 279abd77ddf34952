"""Pydantic AI: an agent on a chat-completions model, with everything else as it comes."""

from shared import world
from shared.endpoint import API_KEY, BASE_URL, MODEL, STREAM
from shared.outcome import report

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

provider = OpenAICompatibleProvider("loopmeter", base_url=BASE_URL, api_key=API_KEY)
agent = Agent(
    OpenAIChatModel(MODEL, provider=provider),
    instructions=world.SYSTEM,
    tools=world.TOOLS,
)


async def drain(_context, events) -> None:
    """Takes the events of a streamed reply, so that replies are streamed."""
    async for _ in events:
        pass


report(
    "pydantic-ai-slim",
    lambda: agent.run_sync(world.USER, event_stream_handler=drain if STREAM else None).output,
)
