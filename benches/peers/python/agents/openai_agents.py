"""OpenAI Agents SDK: an agent on chat completions.

Its tracing is off, since it would be sent to a service; everything else is as it comes.
"""

from worker import API_KEY, BASE_URL, MODEL, work, world

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)

agent = Agent(
    name="File assistant",
    instructions=world.SYSTEM,
    model=OpenAIChatCompletionsModel(
        model=MODEL, openai_client=AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY)
    ),
    tools=[function_tool(tool) for tool in world.TOOLS],
)


async def run() -> str:
    return (await Runner.run(agent, world.USER)).final_output


work(run)
