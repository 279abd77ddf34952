"""OpenAI Agents SDK: an agent on chat completions, with everything else as it comes."""

import asyncio

from shared import world
from shared.endpoint import MODEL, STREAM
from shared.outcome import report

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)

agent = Agent(
    name="File assistant",
    instructions=world.SYSTEM,
    model=OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI()),
    tools=[function_tool(tool) for tool in world.TOOLS],
)


async def run() -> str:
    if not STREAM:
        return (await Runner.run(agent, world.USER)).final_output
    result = Runner.run_streamed(agent, world.USER)
    async for _ in result.stream_events():
        pass
    return result.final_output


report("openai-agents", lambda: asyncio.run(run()))
