"""The plain OpenAI client with a loop by hand, as its guide to function calling has it.

The client has no loop: the cap of 20 turns and the wording of a tool's error are this file's own.
"""

import json

from shared import world
from shared.endpoint import MODEL, STREAM
from shared.outcome import report

from openai import OpenAI

MAX_TURNS = 20


def define(name: str, description: str, **parameters: dict) -> dict:
    schema = {"type": "object", "properties": parameters}
    if parameters:
        schema["required"] = list(parameters)
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


TOOLS = [
    define("list_files", "List the names of all files."),
    define("read_file", "Read one file and return its whole text.", path={"type": "string"}),
    define("delete_file", "Delete one file. This cannot be undone.", path={"type": "string"}),
    define("scan_archive", "Scan the archive of old files. This takes a few seconds."),
]
FUNCTIONS = {tool.__name__: tool for tool in world.TOOLS}


def execute(call) -> str:
    try:
        result = FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
    except Exception as error:
        return f"Error: {error}"
    return result if isinstance(result, str) else json.dumps(result)


def ask(client: OpenAI, messages: list):
    request = {"model": MODEL, "messages": messages, "tools": TOOLS}
    if STREAM:
        with client.chat.completions.stream(**request) as stream:
            return stream.get_final_completion().choices[0].message
    return client.chat.completions.create(**request).choices[0].message


def run() -> str | None:
    client = OpenAI()
    messages = [
        {"role": "system", "content": world.SYSTEM},
        {"role": "user", "content": world.USER},
    ]
    for _ in range(MAX_TURNS):
        message = ask(client, messages)
        messages.append(message.to_dict())
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = {"role": "tool", "tool_call_id": call.id, "content": execute(call)}
            messages.append(result)
    return None


report("openai", run)
