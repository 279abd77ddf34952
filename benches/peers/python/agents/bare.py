"""No framework: `http.client`, JSON, and a loop without a cap. The least that Python can do."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from worker import API_KEY, BASE_URL, MODEL, work, world


def define(name: str, **properties: dict) -> dict:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    description = (FUNCTIONS[name].__doc__ or "").splitlines()[0]
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


FUNCTIONS = {tool.__name__: tool for tool in world.TOOLS}
TOOLS = [
    define("list_files"),
    define("read_file", path={"type": "string"}),
    define("delete_file", path={"type": "string"}),
    define("scan_archive"),
]
HEADERS = {"content-type": "application/json", "authorization": f"Bearer {API_KEY}"}

address = urlsplit(BASE_URL)
connection = HTTPConnection(address.hostname, address.port)


def post(body: str) -> tuple[int, bytes]:
    connection.request("POST", f"{address.path}/chat/completions", body, HEADERS)
    reply = connection.getresponse()
    return reply.status, reply.read()


def ask(messages: list) -> dict:
    body = json.dumps({"model": MODEL, "messages": messages, "tools": TOOLS})
    try:
        status, text = post(body)
    except ConnectionError:  # idle for too long, and let go by the endpoint
        connection.close()
        status, text = post(body)
    if status != 200:
        raise RuntimeError(f"status {status}")
    return json.loads(text)["choices"][0]["message"]


def execute(call: dict) -> str:
    result = FUNCTIONS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
    return result if isinstance(result, str) else json.dumps(result)


async def run() -> str:
    messages = [{"role": "system", "content": world.SYSTEM}, {"role": "user", "content": world.USER}]
    while True:
        message = ask(messages)
        if not message.get("tool_calls"):
            return message["content"]
        messages.append(message)
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": execute(call)})


work(run)
