"""curl: what stands in the reply itself."""

import json
import subprocess

from driving import drive, extra_body, messages


class RefusedError(Exception):
    """A reply that is an error."""

    def __init__(self, said, status):
        super().__init__(said)
        self.status = status


def ask(address, case, seen):
    body = {"model": case["mode"], "messages": messages(case), "stream": case["stream"]}
    body |= extra_body(case)
    command = ["curl", "--silent", "--no-buffer", "--include", "--max-time", "30"]
    command += ["--header", "content-type: application/json", "--data-binary", "@-"]
    done = subprocess.run(
        [*command, f"{address}/chat/completions"],
        input=json.dumps(body).encode(), capture_output=True, check=False,
    )  # fmt: skip
    head, _, content = done.stdout.decode("utf-8").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    seen.headers(line.split(": ", 1) for line in lines)
    status = int(first.split()[1])
    if status != 200:
        raise RefusedError(json.loads(content)["error"]["message"], status)
    if not case["stream"]:
        reply = json.loads(content)
        seen.text(reply["choices"][0]["message"]["content"])
        seen.novarag(reply.get("novarag"))
        return
    events = [line.removeprefix("data: ") for line in content.split("\n") if line.strip()]
    for event in events:
        if event != "[DONE]":
            _read(json.loads(event), seen)
    if done.returncode or events[-1] != "[DONE]":
        raise RefusedError("the stream has no end", None)


def _read(chunk, seen):
    if "error" in chunk:
        raise RefusedError(chunk["error"]["message"], int(chunk["error"]["code"]))
    for choice in chunk["choices"]:
        seen.text(choice["delta"].get("content"))
    seen.novarag(chunk.get("novarag"))


drive(ask)
