"""The clients whose every reply is checked: whole runs, plain and streamed, with faults that are known beforehand."""

import asyncio
import json
import random
import time
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from wire import Broken, Connection, request_bytes

# The server fails the first attempt at every second turn so; and a quarter of the runs ask for a fault of their own.
SERVER_FAULT = "turn=1,first=1,kind=429,retry_after_ms=5"
STATUSES = ("401", "404", "408", "409", "429", "500", "503")
FAULTS = (*STATUSES, "not_json", "cut", "reset", "empty_choices", "stall")

# A client waits so long for a reply before it says that there is none.
PATIENCE = 60.0
# And so long for the rest of a stalled one. Meanwhile the other clients begin new runs, and the server remembers 256: a
# run that is left alone while so many others begin is forgotten, and what is scripted for its first attempt comes again.
STALL_PATIENCE = 0.05


@dataclass
class Tally:
    """What the clients have seen."""

    runs: int = 0
    requests: int = 0
    connections: int = 0
    bytes_in: int = 0
    whole: Counter = field(default_factory=Counter)
    scripted: Counter = field(default_factory=Counter)
    seen: Counter = field(default_factory=Counter)
    # By scenario and turn: replies, prompt tokens, completion tokens, and faults by kind.
    turns: dict = field(default_factory=lambda: defaultdict(Counter))
    wrong: list = field(default_factory=list)
    milliseconds: array = field(default_factory=lambda: array("f"))


@dataclass(frozen=True)
class Plan:
    """How one run goes: its faults are known before it starts."""

    scenario: str
    number: int
    path: str
    delivery: str
    pace: str | None
    kind: str | None
    turn: int
    times: int

    def expected(self, turn, attempt):
        """What that attempt has to meet."""
        if self.kind and turn == self.turn and attempt <= self.times:
            return self.kind
        return "429" if turn == 1 and attempt == 1 else "whole"

    def headers(self, turn):
        headers = []
        if self.pace:
            headers.append(("x-loopmeter-latency", self.pace))
        if self.kind and turn == self.turn:
            headers.append(("x-loopmeter-fault", f"kind={self.kind},first={self.times}"))
        return headers


class Load:
    """Clients that make runs one after the other until they are told to stop."""

    def __init__(self, port, scripts, seed, prefix):
        self.port, self.scripts, self.seed, self.prefix = port, scripts, seed, prefix
        self.tally = Tally()
        self.stopping = False
        # Set when the server was told to stop: from then on it may turn requests away.
        self.closing = False
        self.numbers = iter(range({"soak": 0}.get(prefix, 900_000_000), 1_000_000_000))

    async def run(self, clients):
        await asyncio.gather(*(Client(self, at).run() for at in range(clients)))


class Closed(Exception):
    """The server is going and has said so."""


class Client:
    """One of them, with one connection at a time."""

    def __init__(self, load, at):
        self.load, self.at, self.tally = load, at, load.tally
        self.random = random.Random(f"{load.seed} {load.prefix} {at}")
        self.connection = None
        self.requests_left = 0

    async def run(self):
        try:
            while not self.load.stopping:
                await self.one_run(self.plan())
                self.tally.runs += 1
        except Closed:
            pass
        finally:
            self.hang_up()

    def plan(self):
        pick, number = self.random, next(self.load.numbers)
        scenario = pick.choice(list(self.load.scripts))
        turns = len(self.load.scripts[scenario])
        kind = pick.choice(FAULTS) if pick.random() < 0.25 else None
        # Without a path of its own, a run shares what the server remembers with the others.
        shared = self.load.prefix == "soak" and pick.random() < 0.25
        return Plan(
            scenario=scenario,
            number=number,
            path="/v1" if shared else f"/runs/{self.load.prefix}-{self.at}-{number}/v1",
            delivery=pick.choice(("plain", "streamed", "usage")),
            pace="ttft=5ms,per_token=1ms" if pick.random() < 0.1 else None,
            kind=kind,
            turn=pick.randrange(turns),
            times=pick.choice((1, 1, 2)) if kind in STATUSES else 1,
        )

    async def one_run(self, plan):
        for at, turn in enumerate(self.load.scripts[plan.scenario]):
            body, attempt, expected = turn.request(plan.number, plan.delivery), 0, None
            while expected != "whole":
                attempt += 1
                expected = plan.expected(at, attempt)
                met = await self.attempt(plan, at, body, expected)
                if met != expected:
                    self.tally.wrong.append(
                        f"{plan.scenario} turn {at} attempt {attempt}, {plan.delivery}, run {plan.path}: "
                        f"{expected} was scripted, seen was {met}"
                    )
                    return self.hang_up()

    async def attempt(self, plan, at, body, expected):
        """What one request meets: `whole`, a kind of fault, or something that was not scripted."""
        started = time.monotonic()
        path, headers = f"{plan.path}/chat/completions", plan.headers(at)
        try:
            connection = await self.connected()
            if expected == "stall":
                await self.stalled(connection, path, body, headers)
                met = "stall"
            else:
                reply = await asyncio.wait_for(connection.ask(path, body, headers), PATIENCE)
                met = verdict(reply, self.load.scripts[plan.scenario][at], plan.delivery)
        except Broken as broken:
            self.hang_up()
            if self.load.closing and not broken.begun:
                raise Closed from broken
            met = "cut" if broken.begun else "reset"
        except (TimeoutError, asyncio.TimeoutError):
            self.hang_up()
            met = f"nothing for {PATIENCE:.0f} s"
        except (ValueError, KeyError, IndexError, TypeError) as error:
            self.hang_up()
            met = f"a reply that cannot be read ({error!r})"
        if plan.pace is None and plan.delivery == "plain" and met == "whole":
            self.tally.milliseconds.append((time.monotonic() - started) * 1000)
        self.count(plan, at, expected, met)
        await asyncio.sleep(0.005 if met == "429" else 0)
        return met

    def count(self, plan, at, expected, met):
        self.tally.requests += 1
        self.tally.scripted[expected] += 1
        self.tally.seen[met] += 1
        sums = self.tally.turns[plan.scenario, at]
        if met == "whole":
            turn = self.load.scripts[plan.scenario][at]
            self.tally.whole[plan.delivery] += 1
            sums["replies"] += 1
            sums["prompt_tokens"] += turn.prompt_tokens
            sums["completion_tokens"] += turn.completion_tokens
        else:
            sums[met] += 1

    async def stalled(self, connection, path, body, headers):
        """Has a reply stall, and loses patience with it."""
        await connection.send(request_bytes(path, body, headers))
        await asyncio.wait_for(connection.head(), PATIENCE)
        try:
            await asyncio.wait_for(connection.until_closed(), STALL_PATIENCE)
            raise ValueError("the reply that should stall ended")
        except (TimeoutError, asyncio.TimeoutError):
            self.hang_up()

    async def connected(self):
        if self.connection is None or self.requests_left == 0:
            self.hang_up()
            self.connection = await Connection.open(self.load.port)
            self.requests_left = self.random.randrange(1, 60)
            self.tally.connections += 1
        self.requests_left -= 1
        return self.connection

    def hang_up(self):
        if self.connection:
            self.tally.bytes_in += self.connection.bytes_in
            self.connection.close()
            self.connection = None


def verdict(reply, turn, delivery):
    """What a reply is, checked against what has to come back."""
    if reply.status != 200:
        message = reply.json()["error"]["message"]
        return str(reply.status) if message.endswith("(an injected fault)") else f"{reply.status}: {message}"
    if reply.headers["content-type"].startswith("text/html"):
        return "not_json"
    return verdict_of_plain(reply.json(), turn) if delivery == "plain" else verdict_of_stream(reply, turn, delivery)


def verdict_of_plain(completion, turn):
    usage, choices = completion["usage"], completion["choices"]
    if {key: usage[key] for key in turn.usage} != turn.usage:
        return f"a wrong usage: {usage}"
    if not choices:
        return "empty_choices"
    message = choices[0]["message"]
    said = (message.get("content"), message.get("tool_calls") or [], choices[0]["finish_reason"])
    return "whole" if said == (turn.content, turn.calls, turn.finish) else f"another reply: {said}"


def verdict_of_stream(reply, turn, delivery):
    *events, last = reply.events()
    if last != b"[DONE]":
        return "a stream without its end"
    content, calls, finish, usages, choices = None, [], None, [], 0
    for chunk in map(json.loads, events):
        if chunk.get("usage"):
            usages.append({key: chunk["usage"][key] for key in turn.usage})
        for choice in chunk["choices"]:
            choices += 1
            delta, finish = choice["delta"], choice["finish_reason"] or finish
            if delta.get("content") is not None:
                content = (content or "") + delta["content"]
            for piece in delta.get("tool_calls") or []:
                add(calls, piece)
    if usages != ([turn.usage] if delivery == "usage" else []):
        return f"a wrong usage: {usages}"
    if not choices:
        return "empty_choices"
    said = (content, calls, finish)
    return "whole" if said == (turn.content, turn.calls, turn.finish) else f"another reply: {said}"


def add(calls, piece):
    """Adds a piece of a call to the calls so far."""
    if piece["index"] == len(calls):
        function = {"name": piece["function"]["name"], "arguments": ""}
        calls.append({"id": piece["id"], "type": "function", "function": function})
    calls[piece["index"]]["function"]["arguments"] += piece["function"].get("arguments") or ""
