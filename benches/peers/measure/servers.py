"""Mock servers: requests a second, under the same load by wrk."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from .agents import turned
from .processes import ANSWER, MODEL, Wrong, free_port, scripted, serving
from .rows import Row
from .sides import HERE, OURS, ROOT, Peer, Sides, say

SERVER = "server"
# Their names, and whether they are streamed.
REPLIES = (("plain", False), ("streamed", True))
ROUNDS = 5
SECONDS = 2
CONNECTIONS = (1, 64)
# Characters per delta at which aimock sends the answer in as many deltas as we do.
CHUNK = 6
NO_WRK = "wrk is not installed (Debian: `apt-get install wrk`)"


def call(number: int, tool: str, arguments: dict) -> list[dict]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}


def text_of(name: str) -> str:
    return (ROOT / "experiments" / "world" / name).read_text(encoding="utf-8")


def request(streamed: bool) -> bytes:
    """The third request of `plan`: its reply is the answer in words."""
    messages = [
        {"role": "system", "content": text_of("system.txt")},
        {"role": "user", "content": text_of("user.txt")},
        call(1, "list_files", {}),
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(["access.log", "errors.log", "notes.txt"])},
        call(2, "read_file", {"path": "errors.log"}),
        {"role": "tool", "tool_call_id": "c2", "content": text_of("files/errors.log")},
    ]
    return json.dumps({"model": MODEL, "stream": streamed, "messages": messages}).encode()


def answer(url: str, body: bytes, streamed: bool) -> tuple[str, int]:
    """What a server says to the request, and in how many events."""
    asked = urllib.request.Request(f"{url}/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as reply:
        text = reply.read().decode()
    if not streamed:
        return json.loads(text)["choices"][0]["message"]["content"], 1
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events if event != "[DONE]"]
    return "".join(delta.get("content") or "" for delta in deltas), len(events)


def check(name: str, url: str, body: bytes, streamed: bool) -> int:
    said, events = answer(url, body, streamed)
    if said != ANSWER:
        raise Wrong(f"{name}: answered {said!r}, not {ANSWER!r}")
    return events


def load(name: str, url: str, body: Path, connections: int) -> dict:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "-s", str(HERE / "load.lua"),
               f"{url}/chat/completions"]
    done = subprocess.run(command, env=os.environ | {"BODY": str(body)}, check=True, capture_output=True, text=True)
    measured = json.loads(done.stdout.splitlines()[-1])
    if measured["errors"] or not measured["requests"]:
        raise Wrong(f"{name}: {measured['errors']} errors in {measured['requests']} requests")
    return measured


def serve(peer: Peer, sides: Sides, stack: ExitStack) -> str:
    if peer.name == OURS:
        return stack.enter_context(scripted(sides.loopmeter))
    port = free_port()
    command = ["node", str(sides.aimock()), "--port", str(port), "--fixtures", str(HERE / "aimock.json"),
               "--chunk-size", str(CHUNK), "--log-level", "silent", "--strict"]
    return stack.enter_context(serving(command, port))


def servers(peers: list[Peer], sides: Sides) -> list[Row]:
    """Turn and turn about, so that what else the machine does falls on all."""
    if not shutil.which("wrk"):
        return [Row(SERVER, case(name, connections), peer.name, missing=NO_WRK)
                for name, _ in REPLIES for connections in CONNECTIONS for peer in peers]
    rows = []
    with ExitStack() as stack:
        urls = {peer.name: serve(peer, sides, stack) for peer in peers if not sides.why_missing(peer)}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, streamed in REPLIES:
            body = folder / f"{name}.json"
            body.write_bytes(request(streamed))
            events = {peer: check(peer, url, body.read_bytes(), streamed) for peer, url in urls.items()}
            if len(set(events.values())) > 1:
                raise Wrong(f"the replies differ in their events: {events}")
            for connections in CONNECTIONS:
                rounds = measure(urls, body, connections, case(name, connections))
                rows += [row(peer, case(name, connections), rounds, sides) for peer in peers]
            for peer, url in urls.items():
                check(peer, url, body.read_bytes(), streamed)
    return rows


def case(replies: str, connections: int) -> str:
    return f"{replies}, {connections} connection{'s' if connections > 1 else ''}"


def measure(urls: dict[str, str], body: Path, connections: int, title: str) -> dict[str, list[dict]]:
    rounds = {name: [] for name in urls}
    for name, url in urls.items():
        load(name, url, body, connections)
    for number in range(ROUNDS):
        say(f"{SERVER}: {title}: round {number + 1} of {ROUNDS}")
        for name in turned(list(urls), number):
            rounds[name].append(load(name, urls[name], body, connections))
    return rounds


def row(peer: Peer, title: str, rounds: dict[str, list[dict]], sides: Sides) -> Row:
    if why := sides.why_missing(peer):
        return Row(SERVER, title, peer.name, missing=why)
    made = rounds[peer.name]
    return Row(
        SERVER, title, peer.name, n=len(made), median_ms=median(made, "p50_ms"), p10_ms=median(made, "p10_ms"),
        p90_ms=median(made, "p90_ms"), requests_per_s=statistics.median(one["requests"] / one["seconds"] for one in made),
        reply_bytes=round(made[0]["bytes"] / made[0]["requests"]))


def median(made: list[dict], key: str) -> float:
    return statistics.median(one[key] for one in made)
