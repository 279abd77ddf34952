"""Pydantic AI: an agent on a chat-completions model, with everything else as it comes."""

from worker import API_KEY, BASE_URL, MODEL, work, world

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

provider = OpenAICompatibleProvider("loopmeter", base_url=BASE_URL, api_key=API_KEY)
agent = Agent(
    OpenAIChatModel(MODEL, provider=provider),
    instructions=world.SYSTEM,
    tools=world.TOOLS,
)


async def run() -> str:
    return (await agent.run(world.USER)).output


work(run)
