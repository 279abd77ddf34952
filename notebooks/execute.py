"""Executes every notebook of this folder and compares its outputs with the committed ones, or writes them (--write).

What differs from run to run and says nothing is left out: times, the version of Python, where the kernel lives. Texts are
compared to the letter. Pictures are written byte by byte the same on one machine; between machines the last digit of a
coordinate may move an edge, so they are compared by their pixels.
"""

import base64
import difflib
import io
import sys
import tempfile
from pathlib import Path

import nbformat
import numpy as np
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

HERE = Path(__file__).parent

# The root mean square, of 255, by which two drawings of one plot may differ.
PIXELS_MAY_DIFFER = 4.0


def executed(path):
    """The notebook of that path, run from top to bottom in a fresh kernel, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as sockets:
        # Socket files: no port that somebody else on the machine could listen to.
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        client = NotebookClient(
            notebook,
            km=kernel,
            extra_arguments=["--IPKernelApp.log_level=40"],
            timeout=300,
            record_timing=False,
            resources={"metadata": {"path": str(HERE)}},
        )
        client.execute()
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
        cell.metadata = {}
        cell.outputs = joined(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = output.data["image/png"].strip()
    return notebook


def joined(outputs):
    """The outputs with what was printed in one piece, however the kernel happened to send it."""
    whole = []
    for output in outputs:
        last = whole[-1] if whole else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            whole.append(output)
    return whole


def texts(notebook):
    """Everything of a notebook that is text, line by line."""
    lines = []
    for number, cell in enumerate(notebook.cells):
        lines.append(f"cell {number}: {cell.cell_type}")
        lines.extend(cell.source.splitlines())
        for output in cell.get("outputs", []):
            lines.append(f"output of cell {number}: {output.output_type}")
            lines.extend(output.get("text", "").splitlines())
            for kind, data in sorted(output.get("data", {}).items()):
                lines.append(kind)
                lines.extend([] if kind == "image/png" else data.splitlines())
    return lines


def pictures(notebook):
    """The pictures of a notebook, as arrays of pixels."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    encoded = (output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    images = (Image.open(io.BytesIO(base64.b64decode(data))) for data in encoded)
    return [np.asarray(image.convert("RGB"), dtype=float) for image in images]


def differences(committed, fresh):
    """How two states of a notebook differ, in lines for people."""
    found = list(difflib.unified_diff(texts(committed), texts(fresh), "committed", "executed", n=1, lineterm=""))
    for number, (was, now) in enumerate(zip(pictures(committed), pictures(fresh), strict=False), start=1):
        if was.shape != now.shape:
            found.append(f"picture {number}: was {was.shape[1]} × {was.shape[0]}, is {now.shape[1]} × {now.shape[0]}")
        elif (distance := float(np.sqrt(np.mean((was - now) ** 2)))) > PIXELS_MAY_DIFFER:
            found.append(f"picture {number}: looks different, by {distance:.1f} of 255")
    return found


def main(arguments):
    if arguments not in ([], ["--write"]):
        sys.exit("usage: notebooks/run [--write]")
    differing = 0
    for path in sorted(HERE.glob("*.ipynb")):
        try:
            fresh = executed(path)
        except CellExecutionError as error:
            sys.exit(f"{path.name}: {error}")
        if arguments:
            nbformat.write(fresh, path)
            print(f"{path.name}: written")
            continue
        found = differences(nbformat.read(path, as_version=4), fresh)
        print("\n".join([*(f"{path.name}: {line}" for line in found), f"{path.name}: {len(found)} differences"]))
        differing += bool(found)
    if differing:
        sys.exit("look at the rows; if they are right, `notebooks/run --write` and commit")


main(sys.argv[1:])
