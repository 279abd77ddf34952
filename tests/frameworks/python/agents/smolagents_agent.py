"""smolagents: a ToolCallingAgent, with everything else as it comes."""

from shared import world
from shared.endpoint import API_KEY, BASE_URL, MODEL, STREAM
from shared.outcome import report

from smolagents import OpenAIModel, ToolCallingAgent, tool

agent = ToolCallingAgent(
    model=OpenAIModel(model_id=MODEL, api_base=BASE_URL, api_key=API_KEY),
    tools=[tool(function) for function in world.TOOLS],
    instructions=world.SYSTEM,
    stream_outputs=STREAM,
)

report("smolagents", lambda: agent.run(world.USER))
