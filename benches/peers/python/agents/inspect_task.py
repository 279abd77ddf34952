"""Inspect: the chapter's task, as many samples as wanted, each written to a log in a folder of its own."""

import tempfile
import time
from dataclasses import dataclass

from worker import world

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import Model
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import Tool, tool


@tool
def list_files() -> Tool:
    async def execute() -> str:
        """List the names of all files."""
        return "\n".join(world.list_files())

    return execute


@tool
def read_file() -> Tool:
    async def execute(path: str) -> str:
        """Read one file and return its whole text.

        Args:
            path: The name of the file.
        """
        return world.read_file(path)

    return execute


@tool
def delete_file() -> Tool:
    async def execute(path: str) -> str:
        """Delete one file. This cannot be undone.

        Args:
            path: The name of the file.
        """
        return world.delete_file(path)

    return execute


@tool
def scan_archive() -> Tool:
    async def execute() -> str:
        """Scan the archive of old files. This takes a few seconds."""
        return world.scan_archive()

    return execute


@dataclass(frozen=True)
class Evaluation:
    """What came of it, and how long it took with its log written, which is then read back untimed."""

    samples: list[EvalSample]
    seconds: float

    def answers(self) -> list[str]:
        """The answers of all samples, without repetition."""
        return sorted({sample.output.completion for sample in self.samples})


def evaluate(model: Model, samples: int, **options: object) -> Evaluation:
    """No sample is scored, which is less work than an evaluation usually has."""
    task = Task(
        dataset=MemoryDataset([Sample(input=world.USER, id=number) for number in range(1, samples + 1)]),
        solver=[
            system_message(world.SYSTEM),
            use_tools(list_files(), read_file(), delete_file(), scan_archive()),
            generate(),
        ],
    )
    with tempfile.TemporaryDirectory() as logs:
        start = time.perf_counter()
        [log] = eval(task, model=model, display="none", log_dir=logs, **options)
        seconds = time.perf_counter() - start
        if log.status != "success":
            raise RuntimeError(f"the evaluation ended with {log.status}: {log.error}")
        done = list(log.samples or [])
    if len(done) != samples:
        raise RuntimeError(f"{len(done)} of {samples} samples are in the log")
    return Evaluation(done, seconds)
