"""Inspect as an agent: samples one after the other, each timed by Inspect itself.

Opening and closing an evaluation takes far longer than a sample and is left out; the first samples
of each, which still set things up, are dropped.
"""

import sys

from inspect_task import evaluate
from worker import API_KEY, BASE_URL, MODEL, asked, tell

from inspect_ai.model import get_model

SETTING_UP = 3


def samples(count: int):
    model = get_model(f"openai-api/loopmeter/{MODEL}", base_url=BASE_URL, api_key=API_KEY)
    return evaluate(model, count, max_samples=1)


tell({"answer": samples(1).answers()[0]})
for count in iter(asked(), None):
    evaluation = samples(SETTING_UP + count)
    took = [sample.total_time for sample in evaluation.samples]
    if None in took:
        sys.exit("a sample was not timed")
    tell({"ms": [seconds * 1000 for seconds in took[SETTING_UP:]], "answers": evaluation.answers()})
