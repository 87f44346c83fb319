"""Pages are short, reach their point, and say what was found and what was not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LONGEST = 1_500
LONG = {
    "decisions/index.md": "one short entry a decision; its length has a test of its own",
    "cli.md": "written by `make cli-docs`",
    "licences.md": "written by `make licences-docs`",
    "reproduction/simulated.md": "tables that a command wrote",
    "reproduction/smollm2.md": "tables that a command wrote",
}
"""Pages that may be longer, and why."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GENERATED = {
    "figures.md", "reference/gateway-routes.md", "reference/gateway-settings.md",
    *(name for name in LONG if name != "decisions/index.md"),
}  # fmt: skip
"""Pages that a command writes."""


def name(page):
    return page.relative_to(DOCS if DOCS in page.parents else ROOT).as_posix()


def words(page):
    return len(page.read_text("utf-8").split())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_can_be_read_in_one_sitting(page):
    if name(page) in LONG:
        assert words(page) > LONGEST, "it is short enough to be off the list"
    else:
        assert words(page) <= LONGEST


def is_guide(page):
    """Say whether somebody writes a page by hand for whoever uses or changes novarag."""
    other = ("decisions/", "evidence/", "evidence.md", "reference/api/")
    return name(page) not in GENERATED and not name(page).startswith(other)


GUIDES = [page for page in PAGES if is_guide(page)]


TABLES = re.compile(r"<!-- python -m .*?<!-- end", re.DOTALL)
"""Tables that a command writes into a page."""


def test_the_guides_can_be_read_in_an_evening():
    assert len(GUIDES) > 50
    texts = [TABLES.sub("", page.read_text("utf-8")) for page in GUIDES]
    assert sum(len(text.split()) for text in texts) <= 38_000


STOPPING = re.compile(
    r"\bthat one\b[.,;:)]|\bof these\b[.,;:)]|\bwants (?:a|an|the|no)\b|\bstops to\b|\bfrom where\b"
    r"|\bnothing sure\b|\bat face value\b|\bthe \w+'s is\b|\bbeside (?!each other\b|it\b|them\b)",
    re.IGNORECASE,
)
"""What makes a reader stop: a noun that was dropped, a word in the place of the usual one."""


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_no_sentence_drops_its_noun(page):
    text = re.sub(r"`[^`\n]*`", "``", prose(page))
    assert STOPPING.findall(text) == []


def test_the_pattern_finds_sentences_that_stopped_readers():
    for sentence in (
        "the promise is for that one.", "A request wants a key.", "when it stops to hold",
        "Trained by the method, the model's is lower", "nothing sure yet for 1", "30 of these.",
        "from where at most 30 % are wrong", "measured beside passages",
    ):  # fmt: skip
        assert STOPPING.search(sentence), sentence
    assert not STOPPING.search("Two jobs run beside each other.")


def test_the_glossary_is_short_and_linked():
    rows = re.findall(
        r"^\| (.+?) \| (.+) \|$", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE
    )[1:]
    terms = [term for term, _ in rows if term != "---"]
    assert 30 < len(terms) <= 60
    assert terms == sorted(terms, key=str.lower)
    linking = [page for page in PAGES if "glossary.md" in page.read_text("utf-8")]
    assert len(linking) >= 8


def test_decisions_and_the_changelog_stay_short():
    """Whoever adds a decision makes it short; what is only history stands in git."""
    records = sorted((DOCS / "decisions").rglob("*.md"))
    assert sum(words(page) for page in records) <= 8_000
    text = (DOCS / "decisions/index.md").read_text("utf-8")
    numbers = re.findall(r"^## (\d+)\. ", text, re.MULTILINE)
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert len(lines) <= 60
    assert [line for line in lines if len(line.split()) > 60] == []


EVIDENCE = [DOCS / "evidence.md", *sorted((DOCS / "evidence").glob("*.md"))]


def test_the_evidence_can_be_read_in_an_evening():
    counted = {name(page): words(page) for page in EVIDENCE}
    assert {page: count for page, count in counted.items() if count > 1_500} == {}
    assert sum(counted.values()) <= 10_000


def claims():
    """The rows of the page of claims: the claim, what was measured, how, when, and the record."""
    rows = re.findall(r"^\| (.+) \|$", (DOCS / "evidence.md").read_text("utf-8"), re.MULTILINE)
    return [row.split(" | ") for row in rows if not row.startswith("claim | measured")]


def test_every_claim_names_the_record_of_its_proof_or_says_that_there_is_none():
    assert len(claims()) > 40
    proven = [
        (proof, record)
        for _, _, how, _, record in claims()
        for proof in re.findall(r"`make prove NAME=([a-z-]+)`", how)
    ]
    for proof, record in proven:  # `make records` says whether it is current
        there = (ROOT / "validation" / "records" / f"{proof}.json").exists()
        assert record.startswith(f"`{proof}.json`") if there else record == "no record"
    assert {record for *_, how, _, record in claims() if "make prove" not in how} <= {
        "no record",
        "test",
    }


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [name(page) for page in PAGES if DOCS in page.parents]
    assert [page for page in pages if page not in menu] == []


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """The places in a page that links may lead to."""
    text = prose(page)
    titles = [
        re.sub(r"[`*]|<[^>]*>|\]\([^)]*\)|\[", "", t)
        for t in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    ]
    slugs = [re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", t).strip().lower()) for t in titles]
    return {*slugs, *re.findall(r'id="([^"]+)"', text)}


LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def test_every_link_leads_somewhere():
    names = ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "experiments/nova/README.md"]
    others = [ROOT / name for name in names]
    lost, seen = [], 0
    for page in [*PAGES, *others]:
        for target, anchor in LINK.findall(prose(page)):
            to, seen = (page.parent / target if target else page), seen + 1
            there = to.exists() and (not anchor or to.suffix != ".md" or anchor in anchors(to))
            lost += [] if there else [f"{page.name}: {target}#{anchor}"]
    assert lost == []
    assert seen > 200


COMMANDS = re.compile(r"^(?:\$ )?((?:pip|novarag) .+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(bash|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_home_page_reaches_a_figure_in_three_lines():
    text = (DOCS / "index.md").read_text("utf-8")
    typed, first = [], None
    for kind, block in BLOCK.findall(text):
        typed += COMMANDS.findall(block)
        first = re.search(r"^(?!\$).*\d+ %", block, re.MULTILINE) if kind == "console" else None
        if first:
            break
    assert first, "no output with a figure is shown"
    assert len(typed) <= 3
    assert typed[0].startswith("pip install")
    assert typed[-1].startswith("novarag measure")
    before = text.partition("```")[0].strip().splitlines()
    assert len([line for line in before if line and not line.startswith("#")]) == 1  # one sentence
    assert text.index("![") < text.index("## ")  # the picture comes before anything else


def test_the_home_page_has_three_paths():
    text = (DOCS / "index.md").read_text("utf-8")
    assert re.findall(r"^\*\*(I have an? \w+)", text, re.MULTILINE) == [
        "I have a table",
        "I have an app",
        "I have a paper",
    ]


README = (ROOT / "README.md").read_text("utf-8")


PROVEN = ("The paper's alignment", "Our alignments", "A calibration")
"""What the proof is about, in the order in which it is said: what is the paper's first."""


def test_the_first_screen_of_the_readme_has_the_picture_and_the_proof_the_papers_result_first():
    screen = README.partition("\n## ")[0]
    assert "![" in screen
    assert len(screen.split()) <= 320
    proof = (ROOT / "experiments" / "nova" / "README.md").read_text("utf-8")
    told = re.findall(r"^- \*\*([^*]+)\*\*(.+)$", screen.partition("the proof")[2], re.MULTILINE)
    assert tuple(name for name, _ in told) == PROVEN
    places = []
    for name, line in told:
        [theirs] = re.findall(rf"^\*\*{name}.*$", proof, re.MULTILINE)
        places.append(proof.index(theirs))
        figures = re.findall(r"\d+\.\d+", line)
        assert figures
        assert [figure for figure in figures if figure not in theirs] == []
    assert places == sorted(places)
    assert ["not shown" in line for _, line in told] == [True, True, False]


def test_the_table_of_other_tools_is_whole_and_dated():
    section = (DOCS / "other-tools.md").read_text("utf-8")
    assert re.search(r"looked up on \d{4}-\d\d-\d\d", section)
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = rows
    named = [re.sub(r"\[(.+)\]\(.+\)", r"\1", row[0]) for row in rows]
    assert named == ["novarag", "lm-polygraph", "uqlm", "ragas", "TLM", "inspect_ai"]
    for row in rows:
        assert len(row) == len(rows[0])
        assert all(cell.strip() for cell in row)
    for row in rows[1:]:
        assert re.search(r"\d+\.\d+\.\d+, .*20\d\d-\d\d-\d\d", row[-1]), row[0]
    assert "licence" in head
