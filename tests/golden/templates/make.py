#!/usr/bin/env python3
"""Makes the golden files of this folder with Python's jinja2, set up as Hugging Face sets it up.

  python3 -m venv VENV && VENV/bin/pip install jinja2==3.1.6 && VENV/bin/python make.py

snippets.json   each small template of snippets.py: its text, or that it is refused
prompts.json    each *.jinja over each of conversations.json: the same; where the conversation has a form that a
                template may not know (content null or a list, arguments as text), also the texts with it changed
"""
import copy
import functools
import itertools
import json
import pathlib

from hugging_face import make_environment
from snippets import CONTEXT, ERRORS, EXPRESSIONS, STATEMENTS

FOLDER = pathlib.Path(__file__).resolve().parent


@functools.lru_cache(maxsize=4)
def compiled(environment, source):
    return environment.from_string(source)


def outcome(environment, source, **variables):
    try:
        text = compiled(environment, source).render(**variables)
        text.encode()
        return {"text": text}
    except Exception as error:  # whatever it is, the template is refused
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def render_conversation(environment, source, conversation):
    variables = dict(conversation.get("vars", {}))
    if "tools" in conversation:
        variables["tools"] = conversation["tools"]
    variables.setdefault("add_generation_prompt", conversation.get("add_generation_prompt", True))
    return outcome(environment, source, messages=conversation["messages"], **variables)


def prepared(messages):
    """The messages with one or more of OpenAI's forms changed into the common ones, in every way there is."""
    def fill(message):
        if message.get("content") is None and ("content" in message or message.get("tool_calls")):
            message["content"] = ""

    def flatten(message):
        if isinstance(message.get("content"), list):
            message["content"] = "".join(part["text"] for part in message["content"])

    def parse(message):
        for call in message.get("tool_calls") or []:
            if isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])

    found = []
    for count in (1, 2, 3):
        for changes in itertools.combinations((fill, flatten, parse), count):
            copy_ = copy.deepcopy(messages)
            try:
                for change in changes:
                    for message in copy_:
                        change(message)
            except KeyError:  # a part that is no text
                continue
            if copy_ not in found and copy_ != messages:
                found.append(copy_)
    return found


def write(name, rows):
    lines = ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows)
    (FOLDER / name).write_text("[\n" + lines + "\n]\n")
    print(f"{name}: {len(rows)} rows, {sum('error' in row for row in rows)} of them refused")


def main():
    environment = make_environment()
    snippets = ["{{ " + line + " }}" for line in EXPRESSIONS] + STATEMENTS + ERRORS
    rows = [{"template": s, **outcome(environment, s, **CONTEXT)} for s in snippets]
    for row in rows:
        assert " at 0x" not in row.get("text", ""), row
        row.pop("error", None) is None or row.update(error=True)
    write("snippets.json", rows)
    (FOLDER / "snippets_context.json").write_text(json.dumps(CONTEXT, ensure_ascii=True, indent=1) + "\n")

    conversations = json.loads((FOLDER / "conversations.json").read_text())
    rows = []
    for path in sorted(FOLDER.glob("*.jinja")):
        source = path.read_text("utf-8")
        for conversation in conversations:
            row = {"template": path.name, "conversation": conversation["name"]}
            row |= render_conversation(environment, source, conversation)
            others = [render_conversation(environment, source, {**conversation, "messages": messages}).get("text")
                      for messages in prepared(conversation["messages"])]
            others = sorted({text for text in others if text is not None and text != row.get("text")})
            rows.append(row | ({"prepared": others} if others else {}))
    write("prompts.json", rows)


if __name__ == "__main__":
    main()
