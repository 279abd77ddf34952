"""The last line of an agent: how its run ended, as JSON on standard output."""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version


def report(package: str, run: Callable[[], object]) -> None:
    """Runs an agent, prints how it ended and leaves: 0 for a result, 1 for an exception.

    `package` is the framework's name on PyPI. What the framework prints goes to standard error.
    """
    line = {"framework": package, "version": version(package)}
    try:
        with redirect_stdout(sys.stderr):
            output = run()
    except Exception as error:
        name = f"{type(error).__name__}: {error}"
        print(json.dumps(line | {"ending": "exception", "error": name[:300]}))
        sys.exit(1)
    print(json.dumps(line | {"ending": "result", "output": output or None}))
