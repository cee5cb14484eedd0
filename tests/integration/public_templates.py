#!/usr/bin/env python3
"""What jinja2 makes of the public chat templates: a line of JSON for each template and conversation.

  public_templates.py OUT

The templates are fetched by tools/scripts/fetch_public_texts, jinja2 is installed by pip beside them in the cache; the
conversations are tests/golden/templates/conversations.json. Exit code 1: could not, with the reason on stderr.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
JINJA = "3.1.6"


def fetch():
    """The folder of the templates; after it jinja2 can be imported."""
    script = ROOT / "tools" / "scripts" / "fetch_public_texts"
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(1)
    public = pathlib.Path(done.stdout.strip())
    packages = public / f"jinja2-{JINJA}"
    if not (packages / "complete").is_file():
        for python in (sys.executable, "/usr/bin/python3"):
            command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout",
                       "20", "--no-compile", "--upgrade", "--target", str(packages), f"jinja2=={JINJA}"]
            installed = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if installed.returncode == 0:
                break
        else:
            sys.exit(f"cannot install jinja2 {JINJA} with pip: {(installed.stderr.strip().splitlines() or ['?'])[-1]}")
        (packages / "complete").touch()
    sys.path.insert(0, str(packages))
    return public / "templates"


def main():
    sys.dont_write_bytecode = True
    templates = fetch()
    sys.path.insert(0, str(ROOT / "tests" / "golden" / "templates"))
    import make  # pylint: disable=import-outside-toplevel
    environment = make.make_environment()
    conversations = json.loads((make.FOLDER / "conversations.json").read_text())
    changed = [make.prepared(conversation["messages"]) for conversation in conversations]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for path in sorted(templates.glob("*.jinja")):
            with open(path, encoding="utf-8", newline="") as file:
                source = file.read()
            for conversation, others in zip(conversations, changed):
                row = {"template": str(path), "conversation": conversation["name"]}
                row |= make.render_conversation(environment, source, conversation)
                texts = [make.render_conversation(environment, source, {**conversation, "messages": messages}).get("text")
                         for messages in others]
                row["prepared"] = [text for text in texts if text is not None]
                out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
