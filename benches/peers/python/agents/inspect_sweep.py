"""Inspect as a sweep: samples of three turns with its mock model, as many at a time as it likes.

The model is told what it used, or Inspect would count the tokens with an encoding that it downloads.
"""

from inspect_task import evaluate
from worker import asked, tell

from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model

CALLS = [("list_files", {}), ("read_file", {"path": "errors.log"})]
ANSWER = "errors.log mentions a timeout: worker 7 timed out after 30000 ms."
USED = ModelUsage(input_tokens=272, output_tokens=23, total_tokens=295)


def play(messages, _tools, _choice, _config) -> ModelOutput:
    """The scenario `plan`: the turn is the number of the model's messages so far."""
    turn = sum(isinstance(message, ChatMessageAssistant) for message in messages)
    if turn < len(CALLS):
        tool, arguments = CALLS[turn]
        output = ModelOutput.for_tool_call("mockllm", tool, arguments)
    else:
        output = ModelOutput.from_content("mockllm", ANSWER)
    output.usage = USED
    return output


def timed(count: int) -> dict:
    evaluation = evaluate(get_model("mockllm/model", custom_outputs=play), count)
    turns = {sum(message.role == "assistant" for message in sample.messages) for sample in evaluation.samples}
    if turns != {1 + len(CALLS)}:
        raise RuntimeError(f"the samples had {turns} turns")
    return {"seconds": evaluation.seconds, "answers": evaluation.answers()}


tell(timed(1))
for count in iter(asked(), None):
    tell(timed(count))
