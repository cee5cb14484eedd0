#!/usr/bin/env python3
"""Fetches the vocabulary-only files of gpt-2, llama-bpe and qwen2 (and what they should give) to the cache.

They are in the source distribution of the Python package llama-cpp-python, 77 MB, of which 16 MB are kept, in
${XDG_CACHE_HOME:-$HOME/.cache}/motley/vocabs. Does nothing when they are there. Exit code 1: could not.
"""
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

PACKAGE = "llama-cpp-python"
VERSION = "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
NAMES = ["gpt-2", "llama-bpe", "qwen2"]
FILES = [f"ggml-vocab-{name}.gguf{end}" for name in NAMES for end in ("", ".inp", ".out")]


def cache_folder():
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache"
    return base / "motley" / "vocabs"


def python_with_pip():
    """A python3 on PATH may be one without pip; the system's own has it once python3-pip is installed."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.access(python, os.X_OK) and subprocess.run(
                [python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
            return python
    sys.exit("no python3 with pip: apt-get install --no-install-recommends python3-pip")


def download(folder):
    """The source distribution, or an exit with the reason."""
    command = [python_with_pip(), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "1",
               "--timeout", "20", "--no-deps", "--no-binary", PACKAGE, "--dest", folder, f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    files = list(pathlib.Path(folder).glob("*.tar.gz"))
    if done.returncode != 0 or len(files) != 1:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        sys.exit(f"cannot fetch {PACKAGE} {VERSION} with pip (is there a network, and python3-pip?): {last}")
    digest = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if digest != SHA256:
        sys.exit(f"{files[0].name} has sha256 {digest}: must be {SHA256}")
    return files[0]


def main():
    target = cache_folder()
    target.mkdir(parents=True, exist_ok=True)
    with open(target / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run at the same time
        if all((target / name).is_file() for name in FILES):
            return
        with tempfile.TemporaryDirectory(dir=target) as folder:
            with tarfile.open(download(folder)) as archive:
                for member in archive:
                    name = member.name.rsplit("/", 1)[-1]
                    if name not in FILES or not member.name.endswith("/models/" + name):
                        continue
                    part = pathlib.Path(folder) / name
                    part.write_bytes(archive.extractfile(member).read())
                    part.replace(target / name)  # whole or not at all
    missing = [name for name in FILES if not (target / name).is_file()]
    if missing:
        sys.exit(f"{PACKAGE} {VERSION} lacks " + ", ".join(missing))


if __name__ == "__main__":
    main()
