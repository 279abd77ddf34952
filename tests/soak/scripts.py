"""What has to come back: runs of the same scenarios in process, where there is no server.

`loopmeter agent start` plays a scenario by itself and leaves a transcript and a usage for each turn. The clients of the
soak send that transcript turn by turn; the server has to say what was said in process, at the same usage.
"""

import http.server
import json
import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

# Runs that end by themselves, one that has to be stopped, one with two calls in a message, one whose tools fail.
SCENARIOS = {"plan": 20, "once": 20, "parallel": 20, "recover": 20, "repeat": 20, "denied": 4, "runaway": 6}

# Three digits are one token, whichever they are: so each run has texts of its own at the same usage.
QUESTION = "Run {:03} {:03} {:03}: which file mentions a timeout?"
MARKED = QUESTION.format(0, 0, 0)


def question(number):
    """The question of that run."""
    return QUESTION.format(number // 1_000_000 % 1000, number // 1000 % 1000, number % 1000)


@dataclass(frozen=True)
class Turn:
    """One request, with `MARKED` for the run's question, and what has to be answered."""

    body: str
    content: str | None
    calls: list
    finish: str
    prompt_tokens: int
    completion_tokens: int

    def request(self, number, delivery):
        """The body for that run: `plain`, `streamed` or `usage` (streamed, with usage)."""
        body = self.body.replace(MARKED, question(number))
        if delivery != "plain":
            body = body[:-1] + ',"stream":true'
            body += ',"stream_options":{"include_usage":true}}' if delivery == "usage" else "}"
        return body.encode()

    @property
    def usage(self):
        total = self.prompt_tokens + self.completion_tokens
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": total,
        }


def tools_of(program, folder):
    """The tools that loopmeter's own agent declares, taken from a request of it."""
    seen = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_error(400)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as listener:
        threading.Thread(target=listener.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{listener.server_port}/v1"
        environment = os.environ | {"LLM_BASE_URL": url, "LLM_MODEL": "any", "LLM_API_KEY": "any"}
        command = [program, "agent", "start", "--provider", "endpoint", "--dir", str(folder / "tools")]
        subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    return seen[0]["tools"]


def played(program, folder, scenario, asked):
    """Messages and turns of a run in process."""
    runs = folder / f"{scenario}-{asked[4:15].replace(' ', '')}"
    command = [program, "agent", "start", "--scenario", scenario, "--user", asked, "--dir", str(runs)]
    command += ["--max-turns", str(SCENARIOS[scenario]), "--id", "r"]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    messages = json.loads(Path(runs, "r", "run.json").read_text())["run"]["messages"]
    trace = [json.loads(line) for line in Path(runs, "r", "trace.jsonl").read_text().splitlines()]
    return messages, [event for event in trace if event["type"] == "turn"]


def script(program, folder, scenario, tools):
    """The turns of a scenario; in process, runs of other numbers have to have the same usage."""
    messages, usages = played(program, folder, scenario, MARKED)
    for number in (123_456_789, 999_000_100):
        other = played(program, folder, scenario, question(number))[1]
        if [drop_cost(turn) for turn in other] != [drop_cost(turn) for turn in usages]:
            raise SystemExit(f"{scenario}: the number of a run changes its usage")
    spoken = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    turns = []
    for at, usage in zip(spoken, usages, strict=True):
        body = {"model": f"scripted/{scenario}", "messages": messages[:at], "tools": tools}
        said = messages[at]
        turns.append(
            Turn(
                json.dumps(body, separators=(",", ":"), ensure_ascii=False),
                said.get("content"),
                said.get("tool_calls") or [],
                usage["finish"],
                usage["prompt_tokens"],
                usage["completion_tokens"],
            )
        )
    return turns


def drop_cost(turn):
    return {key: value for key, value in turn.items() if key != "costUsd"}


def scripts(program, folder):
    """The turns of all scenarios, by name."""
    tools = tools_of(program, folder)
    return {scenario: script(program, folder, scenario, tools) for scenario in SCENARIOS}
