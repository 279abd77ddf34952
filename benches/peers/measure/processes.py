"""Servers and workers: processes that are started here and always ended here."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What `plan` ends with. The endpoint gives it only to a conversation in which both tools were called.
ANSWER = "errors.log mentions a timeout: worker 7 timed out after 30000 ms."
MODEL = "scripted/plan"
PATIENCE_S = 30
# Longer than any batch of runs takes.
WORKER_PATIENCE_S = 300


class Wrong(Exception):
    """A peer did not do the work, so that its time would mean nothing."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def serving(command: list[str], port: int, log: Path | None = None) -> Iterator[str]:
    """A server until the block ends; gives its base URL once it accepts connections."""
    errors = open(log, "wb") if log else subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        _wait_for(server, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        end(server)
        if log:
            errors.close()


def _wait_for(server: subprocess.Popen, port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise Wrong(f"a server ended with {server.returncode} before it listened")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Wrong(f"a server did not listen within {PATIENCE_S} s")


def end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def scripted(loopmeter: Path, log: Path | None = None) -> Iterator[str]:
    """Our endpoint, playing `plan`. With a log it writes a line for every exchange."""
    port = free_port()
    verbose = ["--verbose"] if log else []
    command = [str(loopmeter), "serve", "--scenario", "plan", "--addr", f"127.0.0.1:{port}", *verbose]
    with serving(command, port, log) as url:
        yield url


def environment(url: str) -> dict[str, str]:
    """Where the agents find the endpoint, each under the names that it reads."""
    return os.environ | {
        "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "unused", "LLM_MODEL": MODEL,
        "LLM_BASE_URL": url, "LLM_API_KEY": "unused",
    }


def held(name: str, answers: list[str]) -> None:
    if answers != [ANSWER]:
        raise Wrong(f"{name}: answered {answers}, not {ANSWER!r}")


class Worker:
    """A script that did one run when it started, and does as many more as it is asked for."""

    def __init__(self, name: str, command: list[str], url: str):
        self.name = name
        # A file and no pipe: nobody reads it while the worker works.
        self.errors = tempfile.TemporaryFile("w+")
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environment(url), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        try:
            first = self._reply()
        except BaseException:
            self.close()
            raise
        self.first_ms = (time.perf_counter() - started) * 1000
        held(name, [first["answer"]] if "answer" in first else first["answers"])

    def ask(self, runs: int) -> dict:
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        reply = self._reply()
        held(self.name, reply["answers"])
        return reply

    def _reply(self) -> dict:
        watch = threading.Timer(WORKER_PATIENCE_S, self.process.kill)
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        if not line:
            code = self.process.wait()
            self.errors.seek(0)
            sys.stderr.write(self.errors.read())
            raise Wrong(f"{self.name}: ended with {code}, without an answer")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()
        self.errors.close()
