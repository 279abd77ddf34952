"""The endpoint that an agent talks to, from the environment."""

import os
import sys

if not os.environ.get("OPENAI_BASE_URL"):
    sys.exit("OPENAI_BASE_URL is not set: name the endpoint, such as http://127.0.0.1:8080/v1")
os.environ.setdefault("OPENAI_API_KEY", "unused")

BASE_URL = os.environ["OPENAI_BASE_URL"]
API_KEY = os.environ["OPENAI_API_KEY"]
MODEL = os.environ.get("LLM_MODEL", "scripted/plan")
STREAM = os.environ.get("STREAM") == "1"
