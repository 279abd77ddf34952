"""Plays conversations through the official client, and tells what it parsed.

Reads one JSON object from standard input: `cases`, each with `name`, `base_url` (in which MODE stands for the mode),
`model`, `system`, `user`, `tools`, `results` (what the tools answer, by call id), `max_turns`, and perhaps a `child`, a
case of its own that is played where its `tool` is called. Writes a line of JSON for the client, then one for each case
and mode.
"""

import json
import sys
from importlib.metadata import version

from openai import OpenAI


def as_sent(message) -> dict:
    """The message as it goes back to the model."""
    plain = {"role": message.role, "content": message.content}
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": call.type,
             "function": {"name": call.function.name, "arguments": call.function.arguments}}
            for call in message.tool_calls
        ]
    return plain


def figures(usage) -> list[int]:
    return [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens,
            usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens]


def plain(client: OpenAI, request: dict) -> dict:
    return turn_of(client.chat.completions.create(**request))


def helper(client: OpenAI, request: dict) -> dict:
    """Streamed, put together by the client."""
    with client.chat.completions.stream(**request, stream_options={"include_usage": True}) as stream:
        return turn_of(stream.get_final_completion())


def turn_of(completion) -> dict:
    [choice] = completion.choices
    return {"message": as_sent(choice.message), "finish": choice.finish_reason, "usage": figures(completion.usage)}


def chunks(client: OpenAI, request: dict) -> dict:
    """Streamed, put together here."""
    seen = list(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    *pieces, closing = seen
    assert closing.choices == [] and closing.usage, "the last chunk has the usage and no choice"
    assert all(piece.usage is None for piece in pieces), "only the last chunk has the usage"
    assert pieces[0].choices[0].delta.role == "assistant", "the first chunk has the role"
    assert len({chunk.id for chunk in seen}) == 1, "all chunks have the same id"
    content, calls, finish = None, [], None
    for piece in pieces:
        [choice] = piece.choices
        assert finish is None, "nothing comes after the finish reason"
        finish = choice.finish_reason
        if choice.delta.content is not None:
            content = (content or "") + choice.delta.content
        for part in choice.delta.tool_calls or []:
            take(calls, part)
    message = {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})
    return {"message": message, "finish": finish, "usage": figures(closing.usage)}


def take(calls: list[dict], part) -> None:
    if part.index == len(calls):
        calls.append({"id": part.id, "type": part.type, "function": {"name": part.function.name, "arguments": ""}})
    else:
        assert part.index == len(calls) - 1, f"index {part.index} after {len(calls)} calls"
        assert part.id is None and part.function.name is None, "id and name come once"
    calls[-1]["function"]["arguments"] += part.function.arguments or ""


MODES = {"plain": plain, "chunks": chunks, "helper": helper}


def play(case: dict, mode: str) -> dict:
    client = OpenAI(base_url=case["base_url"].replace("MODE", mode), api_key="unused", max_retries=0, timeout=30)
    messages = [{"role": "system", "content": case["system"]}, {"role": "user", "content": case["user"]}]
    turns, child = [], None
    while len(turns) < case["max_turns"]:
        turn = MODES[mode](client, {"model": case["model"], "messages": messages, "tools": case["tools"]})
        turns.append(turn)
        calls = turn["message"].get("tool_calls", [])
        # A streamed reply without prose begins with an empty one.
        messages.append(turn["message"] | {"content": turn["message"]["content"] or None})
        for call in calls:
            name = call["function"]["name"]
            if case.get("child") and case["child"]["tool"] == name:
                question = json.loads(call["function"]["arguments"])["question"]
                child = play(case["child"] | {"user": question}, mode)
                content = child["turns"][-1]["message"]["content"]
            else:
                content = case["results"][call["id"]]
            messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": content})
        if not calls:
            break
    return {"turns": turns, "child": child}


def tell(line: dict) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    tell({"client": f"openai {version('openai')} (Python)"})
    for case in json.load(sys.stdin)["cases"]:
        for mode in MODES:
            try:
                played = play(case, mode)
            except Exception as error:
                played = {"error": f"{type(error).__name__}: {error}"}
            tell({"case": case["name"], "mode": mode} | played)


main()
