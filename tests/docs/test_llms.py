"""What models read of the docs has every page, and is made with the site."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^- \[(.+)\]\((\S+)\)(?:: (.+))?$")
"""A row of a list of pages, as llmstxt.org has it."""


def build(folder, **told):
    """Build the pages of a folder without the theme and the objects of Python, which take minutes."""
    config = {**yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8")), **told}
    config |= {"plugins": [], "theme": "mkdocs", "hooks": [str(ROOT / "tools/llms.py")]}
    config |= {
        "site_dir": str(folder / "site"),
        "docs_dir": told.get("docs_dir", str(ROOT / "docs")),
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
    words = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(folder / "mkdocs.yml")]
    subprocess.run(words, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # As mike has it: the address of a version, without a slash at its end.
    return build(tmp_path_factory.mktemp("llms"), site_url="https://docs.example.com/n/1.2.3")


def rows(site):
    lines = (site / "llms.txt").read_text("utf-8").splitlines()
    return [LINE.fullmatch(line).groups() for line in lines if line.startswith("- ")]


def test_the_form_is_that_of_the_convention(site):
    lines = (site / "llms.txt").read_text("utf-8").splitlines()
    assert lines[0] == "# novarag"
    assert lines[2].startswith("> ")
    assert all(not line or line.startswith(("## ", "- ")) for line in lines[3:])
    heads = [line for line in lines if line.startswith("## ")]
    assert len(heads) == len(set(heads)) > 5


def test_every_page_is_in_it_once_in_the_order_of_the_menu_with_its_title_and_sentence(site):
    menu = re.findall(r"[\w/-]+\.md", yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))  # fmt: skip
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert set(menu) == there
    urls = ["" if m == "index.md" else re.sub(r"(/?index)?\.md$", "", m) + "/" for m in menu]
    assert [url for _, url, _ in rows(site)] == [
        f"https://docs.example.com/n/1.2.3/{u}" for u in urls
    ]
    for name, url, (title, _, sentence) in zip(menu, urls, rows(site), strict=True):
        assert (site / url / "index.html").is_file()
        text = (ROOT / "docs" / name).read_text("utf-8")
        words = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
        assert re.sub(r"\W", "", title) == re.sub(r"\W", "", words), name
        assert sentence is None or len(sentence) < 400, name
    assert sum(sentence is None for *_, sentence in rows(site)) <= 2  # a page that is only a table


def test_the_whole_text_has_every_page(site):
    text = (site / "llms-full.txt").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert text.count(f"<!-- {name}: https://docs.example.com/n/1.2.3/") == 1, name
        assert page.read_text("utf-8").strip().splitlines()[-1] in text or ":::" in page.read_text("utf-8")  # fmt: skip
    assert not re.search(r"^::: ", text, re.MULTILINE)
    assert "https://docs.example.com/n/1.2.3/reference/api/asking/#novarag.answer)" in text


def test_both_are_made_again_with_the_site(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    told = {"docs_dir": str(docs), "nav": [{"Home": "index.md"}, {"More": [{"A": "a.md"}]}]}
    (docs / "index.md").write_text("# Home\n\nVersion 3.11 is old. It is.\n", "utf-8")
    (docs / "a.md").write_text("# A `code` & <b>\n\n![x](x.png)\n\nWhat?\n\n::: a.b\n    options:\n        x: 1\n\nEnd.\n", "utf-8")  # fmt: skip
    site = build(tmp_path, **told)
    assert rows(site) == [
        ("Home", "./", "Version 3.11 is old."),
        ("A code &", "a/", "What?"),
    ]
    assert "[`a.b`](a/#a.b)\n\nEnd." in (site / "llms-full.txt").read_text("utf-8")
    (docs / "index.md").write_text("# House\n\nNew!\n", "utf-8")
    site = build(tmp_path, **told)
    assert rows(site)[0] == ("House", "./", "New!")
    assert "Version" not in (site / "llms-full.txt").read_text("utf-8")
