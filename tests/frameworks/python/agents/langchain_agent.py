"""LangChain: `create_agent` on ChatOpenAI, with everything else as it comes."""

import os

from shared import world
from shared.endpoint import API_KEY, BASE_URL, MODEL, STREAM
from shared.outcome import report

os.environ["LANGSMITH_TRACING"] = "false"

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

agent = create_agent(
    model=ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=API_KEY, streaming=STREAM),
    tools=world.TOOLS,
    system_prompt=world.SYSTEM,
)


# The default of 9,999 steps is about 5,000 turns, each slower than the one before: a caller that
# wants to see the cap reached can lower it.
LIMIT = os.environ.get("LANGCHAIN_RECURSION_LIMIT")


def run() -> str:
    messages = [{"role": "user", "content": world.USER}]
    config = {"recursion_limit": int(LIMIT)} if LIMIT else None
    return agent.invoke({"messages": messages}, config)["messages"][-1].text


report("langchain", run)
