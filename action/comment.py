"""Write the comment of a comparison below a pull request, in the place of the last one.

Needs Python alone. Where the token may not write, as on pull requests from forks, that is said and
nothing fails: the summary of the job has the same text.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PAGE = 100
PAGES = 50
LONGEST = 60_000  # characters; hosts take 65,536
REFUSED = (401, 403, 404)


def main() -> int:
    """Post the comment, or change the one that is there."""
    text = Path(os.environ["COMMENT_FILE"]).read_text("utf-8")
    mark = text.partition("\n")[0]
    if len(text) > LONGEST:
        whole, _, _ = text[:LONGEST].rpartition("\n")
        text = f"{whole}\n\nCut here: the rest is in the files of the job.\n"
    issue = f"issues/{int(os.environ['PULL_REQUEST'])}/comments"
    try:
        last = find_last(issue, mark)
        if last is None:
            call("POST", issue, {"body": text})
        else:
            call("PATCH", f"issues/comments/{last}", {"body": text})
    except HTTPError as error:
        if error.code not in REFUSED:
            raise
        print(f"::warning::no comment was written: the token may not ({error.code})")
    return 0


def find_last(issue: str, mark: str) -> int | None:
    """Find the comment that an earlier run wrote: it begins with the mark, and a bot wrote it."""
    for page in range(1, PAGES + 1):
        comments = call("GET", f"{issue}?per_page={PAGE}&page={page}")
        for one in comments:
            if one["body"].startswith(mark) and one["user"]["type"] == "Bot":
                return int(one["id"])
        if len(comments) < PAGE:
            return None
    return None


def call(method: str, path: str, content: object = None):
    """Call the host's API for this repository."""
    request = Request(  # the address is the runner's own
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urlopen(request, timeout=30) as reply:
        return json.load(reply)


if __name__ == "__main__":
    sys.exit(main())
