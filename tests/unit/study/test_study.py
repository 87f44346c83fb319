"""The human study: blind sheets, ratings read back, figures that are what they say."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from novarag import DataError, UsageError
from novarag.report.rating_pictures import draw_bars, draw_radar
from novarag.report.study import sheet_html, study_notes, write_study
from novarag.stats.agreement import alpha, coincidences, kappa
from novarag.stats.ranks import dunn, friedman, kruskal_wallis, wilcoxon
from novarag.study import (
    RUBRIC,
    StudyRatings,
    analyse,
    key_text,
    make_sheet,
    ratings_text,
    read_key,
    read_ratings,
    read_rubric,
    simulated_ratings,
)
from novarag.study.analysis import _blocks
from tests.support.studied import SYSTEMS, systems, trial

NAN = float("nan")
SHEET = make_sheet(systems(), questions=8)
KEY = SHEET.key


def means(**own):
    return dict.fromkeys(SYSTEMS, 3.0) | {f"zebra-{k}": v for k, v in own.items()}


# The sheet


def test_a_sheet_draws_questions_once_and_shows_every_system():
    assert len(SHEET.entries) == 8
    assert len({e.group.question.id for e in SHEET.entries}) == 8
    for entry, hidden in zip(SHEET.entries, KEY.entries, strict=True):
        assert entry.group.question.id == hidden.question
        said = [f"r{i} says {hidden.question}" for i in hidden.order]
        assert list(entry.replies) == said
    assert len({h.order for h in KEY.entries}) > 1


def test_the_same_trials_and_seed_give_the_same_sheet():
    assert make_sheet(systems(), questions=8) == SHEET
    other = make_sheet(systems(), questions=8, seed=1)
    assert other.id != SHEET.id
    assert [h.question for h in other.key.entries] != [h.question for h in KEY.entries]
    assert make_sheet(systems(), questions=8, answers=True).id != SHEET.id
    changed = make_sheet(systems(text="{system} told {question}"), questions=8)
    assert changed.id != SHEET.id


def test_sets_have_as_many_questions_each_as_far_as_they_have_them():
    sizes = {"large": 30, "small": 12, "few": 2}
    parts = {f"{name}{i}": name for name, size in sizes.items() for i in range(size)}
    held = {who: [trial(q, f"{who} {q}") for q in parts] for who in ("one", "two")}

    def drawn(questions, seed=0):
        sheet = make_sheet(held, questions=questions, seed=seed, parts=parts)
        return Counter(parts[h.question] for h in sheet.key.entries), sheet

    assert drawn(6)[0] == {"large": 2, "small": 2, "few": 2}
    assert drawn(20)[0] == {"large": 9, "small": 9, "few": 2}
    assert drawn(44)[0] == sizes
    assert drawn(20)[1] == drawn(20)[1]
    first, other = ({h.question for h in drawn(20, seed)[1].key.entries} for seed in (0, 1))
    assert first != other


def test_one_group_of_a_question_is_drawn_and_the_first_sample_is_shown():
    held = {
        name: [
            trial(f"q{i}", f"{name} {g} {s}", group=f"q{i}/{g}", sample=s)
            for i in range(6)
            for g in "ab"
            for s in (1, 0)
        ]
        for name in ("one", "two")
    }
    sheet = make_sheet(held, questions=6)
    assert len({h.question for h in sheet.key.entries}) == 6
    assert {h.group[-1] for h in sheet.key.entries} == {"a", "b"}
    for entry, hidden in zip(sheet.entries, sheet.key.entries, strict=True):
        assert {r.split()[2] for r in entry.replies} == {"0"}
        assert {r.split()[1] for r in entry.replies} == {hidden.group[-1]}


def test_only_questions_with_a_reply_of_every_system_are_drawn():
    held = systems(10)
    held["zebra-cot"] = held["zebra-cot"][3:]
    drawn = {h.question for h in make_sheet(held, questions=7).key.entries}
    assert drawn == {f"q{i}" for i in range(3, 10)}
    with pytest.raises(UsageError, match="7 questions have a reply of every system, and 8"):
        make_sheet(held, questions=8)


def test_systems_that_saw_other_passages_are_not_compared():
    held = systems(3) | {"other": systems(3, names=("x",), passage="z")["x"]}
    with pytest.raises(DataError, match=r"other: group .* has other passages"):
        make_sheet(held, questions=2)
    with pytest.raises(UsageError, match="2 to 26 systems, not 1"):
        make_sheet({"one": systems()[SYSTEMS[0]]}, questions=2)


def test_no_system_is_named_on_the_page():
    html = sheet_html(SHEET)
    assert "zebra" not in html
    assert "What of" in html
    assert "Accepted" not in html
    assert "Accepted" in sheet_html(make_sheet(systems(), questions=8, answers=True))
    bare = replace(SHEET.entries[0].group, passages=())
    empty = replace(SHEET, entries=(replace(SHEET.entries[0], group=bare, replies=(" ",) * 3),))
    assert "No passages were given" in sheet_html(empty)
    assert sheet_html(empty).count("This reply is empty") == 3


def test_a_key_survives_its_file():
    assert read_key(key_text(KEY)) == KEY


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: "",
        lambda t: "[]",
        lambda t: t.replace("study key 1", "study key 9"),
        lambda t: json.dumps({k: v for k, v in json.loads(t).items() if k != "entries"}),
        lambda t: json.dumps(
            json.loads(t) | {"entries": [{"question": "q", "group": "g", "order": [0, 0, 1]}]}
        ),
    ],
)
def test_a_broken_key_is_refused(spoil):
    with pytest.raises(DataError, match="not the key of a sheet"):
        read_key(spoil(key_text(KEY)))


# Criteria


def test_the_shipped_criteria_are_the_papers_five():
    assert len(RUBRIC.criteria) == 5
    assert RUBRIC.points == 5


def rubric(**told):
    base = {"criteria": [{"name": "a", "title": "A", "asks": "Is it?"}]}
    return json.dumps(base | told)


def test_criteria_come_from_toml_or_json():
    found = read_rubric(rubric(points=7, low="bad"), source="c.json")
    assert (found.points, found.low, found.high) == (7, "bad", "fully")
    text = '[[criteria]]\nname = "a"\ntitle = "A"\nasks = "Is it?"\n'
    assert read_rubric(text).criteria == found.criteria


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "no list of criteria"),
        ("{}", "no list of criteria"),
        (rubric(criteria=[]), "there must be a criterion"),
        (
            rubric(criteria=[{"name": "a", "title": "A", "asks": "?"}] * 2),
            "no name may stand twice",
        ),
        (rubric(criteria=["a"]), "criterion 1 must have"),
        (rubric(criteria=[{"name": "a", "title": " ", "asks": "?"}]), "criterion 1 must have"),
        (rubric(criteria=[{"name": "a"}]), "criterion 1 must have"),
        (rubric(criteria=[{"name": "A b", "title": "A", "asks": "?"}]), "is named 'A b'"),
        (rubric(points=10), "points is 10"),
        (rubric(points=True), "points is True"),
        (rubric(low=3), "not both texts"),
        (rubric(high=None), "not both texts"),
        (rubric(weights=1), "no key 'weights'"),
    ],
)
def test_criteria_that_cannot_be_asked_are_refused(text, says):
    with pytest.raises(DataError, match=says):
        read_rubric(text, source="c.json")


# Ratings


def files(ratings):
    return {f"{i}.json": ratings_text(ratings, i) for i in range(len(ratings.raters))}


def test_saved_ratings_are_read_back_unblinded():
    given = simulated_ratings(SHEET, means(nova=4.5), missing=0.1)
    again = read_ratings(KEY, files(given))
    assert again.raters == given.raters
    assert again.simulated
    assert np.array_equal(again.scores, given.scores, equal_nan=True)


def test_the_blindfold_comes_off_by_the_key():
    scores = np.full((1, 8, 3, 5), 1.0)
    scores[:, :, 2] = 5
    told = json.loads(ratings_text(StudyRatings(key=KEY, raters=("a",), scores=scores), 0))
    assert "simulated" not in told
    for row in told["ratings"]:
        system = KEY.entries[row["entry"] - 1].order["ABC".index(row["reply"])]
        assert row["score"] == (5 if system == 2 else 1)


def one(**changes):
    told = {"format": "novarag study ratings 1", "sheet": KEY.sheet, "rater": "Ada", "ratings": []}
    return json.dumps(told | changes)


def row(**changes):
    return {"entry": 1, "reply": "A", "criterion": "factual", "score": 3} | changes


def test_missing_ratings_stay_missing_and_repeated_ones_count_once():
    found = read_ratings(KEY, {"a": one(ratings=[row(), row()])})
    assert np.isnan(found.scores).sum() == found.scores.size - 1
    assert found.scores[0, 0, KEY.entries[0].order[0], 2] == 3
    assert not found.simulated


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no", "these are not ratings"),
        ("[" * 100_000, "these are not ratings"),
        ("[]", "these are not ratings"),
        ("{}", "these are not ratings"),
        (one(sheet="feed"), "of the sheet 'feed'"),
        (one(ratings=None), "no list of ratings"),
        (one(rater=" "), "no name"),
        (one(rater=None), "no name"),
        (one(ratings=[7]), "row 1: no such question"),
        (one(ratings=[row(), row(entry=9)]), "row 2: no such question"),
        (one(ratings=[row(entry=0)]), "no such question"),
        (one(ratings=[row(entry=True)]), "no such question"),
        (one(ratings=[row(reply="D")]), "no such question"),
        (one(ratings=[row(reply=[])]), "no such question"),
        (one(ratings=[row(criterion="charm")]), "no such question"),
        (one(ratings=[row(score=6)]), "no such question"),
        (one(ratings=[row(score=0)]), "no such question"),
        (one(ratings=[row(score=3.5)]), "no such question"),
        (one(ratings=[row(score=True)]), "no such question"),
        (one(ratings=[{"entry": 1}]), "no such question"),
        (one(ratings=[row(), row(score=4)]), "row 2: this was rated before"),
    ],
)
def test_what_is_not_a_rating_is_refused(text, says):
    with pytest.raises(DataError, match=says):
        read_ratings(KEY, {"a.json": text})


def test_a_rater_counts_once():
    with pytest.raises(DataError, match=r"b: the rater ' ?ada +B' is in a too"):
        read_ratings(KEY, {"a": one(rater="Ada b"), "b": one(rater=" ada  B")})
    assert read_ratings(KEY, {"a": one(), "b": one(rater="Bo")}).raters == ("Ada", "Bo")
    with pytest.raises(UsageError, match="no ratings"):
        read_ratings(KEY, {})
    with pytest.raises(UsageError, match="some of these ratings are simulated"):
        read_ratings(KEY, {"a": one(), "b": one(rater="Bo", simulated=True)})


# Simulated raters


def test_simulated_raters_have_the_means_and_the_agreement_they_were_given():
    sheet = make_sheet(systems(2000), questions=2000)
    wanted = {name: [2.5, 3.0, 3.5, 4.0, 4.5] for name in SYSTEMS}
    given = simulated_ratings(sheet, wanted, raters=3, agreement=0.6, seed=5)
    assert given.scores.mean(axis=(0, 1, 2)) == pytest.approx(wanted[SYSTEMS[0]], abs=0.04)
    for c in range(5):
        units = np.moveaxis(given.scores[..., c], 0, -1).reshape(-1, 3)
        found = alpha(coincidences(units, 5).sum(axis=0), "interval")
        assert float(found) == pytest.approx(0.6, abs=0.03)
    assert given.simulated
    assert all(name.startswith("simulated") for name in given.raters)


@pytest.mark.parametrize(
    "how",
    [
        {"means": {"x": 3.0}},
        {"means": means(nova=5.5)},
        {"means": means(nova=0.5)},
        {"agreement": 1.5},
        {"missing": 1.0},
        {"raters": 0},
    ],
)
def test_simulated_raters_cannot_be_impossible(how):
    with pytest.raises(UsageError):
        simulated_ratings(SHEET, **({"means": means()} | how))


# Figures


def test_systems_that_differ_are_told_apart_and_equal_ones_are_not():
    sheet = make_sheet(systems(60), questions=40)
    found = analyse(simulated_ratings(sheet, means(nova=4.6), seed=3), replicates=300)
    for c in found.criteria:
        assert max(c.friedman.p, c.kruskal.p) < 0.001
        by_pair = {(k.one, k.other): k for k in c.contrasts}
        assert by_pair["zebra-vanilla", "zebra-nova"].wilcoxon_holm < 0.001
        assert by_pair["zebra-vanilla", "zebra-nova"].dunn_bonferroni < 0.001
        assert by_pair["zebra-vanilla", "zebra-nova"].difference.high < 0
        assert 0 < c.concordance < 1
        assert c.means["zebra-nova"].n == 160
    truth = means(nova=4.6)
    covered = [f.low < truth[n] < f.high for c in found.criteria for n, f in c.means.items()]
    assert sum(covered) >= 12
    same = analyse(simulated_ratings(sheet, means(), seed=4), replicates=300)
    assert sum(c.friedman.p < 0.05 for c in same.criteria) <= 1


def test_pairing_by_question_is_not_fooled_by_raters_who_copy_each_other():
    """Eight raters of one mind are one opinion: the paper's test sees eight times as much."""
    sheet = make_sheet(systems(20), questions=12)
    fooled, sober = 0, 0
    for seed in range(40):
        given = simulated_ratings(sheet, means(), raters=8, agreement=1.0, seed=seed)
        scores = given.scores[..., 0]
        fooled += kruskal_wallis(list(scores.reshape(-1, 3).T)).p < 0.05
        sober += friedman(_blocks(scores)[0]).p < 0.05
    assert fooled > 15
    assert sober <= 5


def test_missing_ratings_are_counted_by_rater_and_left_out_of_pairs():
    given = simulated_ratings(SHEET, means(nova=4.0), raters=2)
    scores = given.scores.copy()
    scores[0, 0, 1, :] = NAN
    scores[1, 1] = NAN
    found = analyse(replace(given, scores=scores), replicates=100)
    assert [(w.rated, w.missing) for w in found.raters] == [(115, 5), (105, 15)]
    blocks, kept = _blocks(scores[..., 0])
    assert kept.all()
    assert blocks[0].tolist() == scores[1, 0, :, 0].tolist()
    assert blocks[1].tolist() == scores[0, 1, :, 0].tolist()
    assert blocks[2].tolist() == scores[:, 2, :, 0].mean(axis=0).tolist()
    assert found.agreement.pairs[0].n == 120 - 5 - 15
    assert found.criteria[0].means["zebra-cot"].n == 14


def test_figures_that_cannot_be_are_left_open():
    flat = StudyRatings(key=KEY, raters=("a", "b"), scores=np.full((2, 8, 3, 5), 4.0))
    found = analyse(flat, replicates=100)
    first = found.criteria[0]
    assert np.isnan([first.kruskal.p, first.friedman.p, first.agreement.ordinal.value]).all()
    assert np.isnan([first.agreement.kappa, first.contrasts[0].dunn]).all()
    assert first.contrasts[0].wilcoxon == 1.0
    assert first.contrasts[0].difference.value == 0
    assert "cannot be told" in " ".join(study_notes(found))
    assert "tells it from no other system" in study_notes(found)[0]
    lone = np.full((1, 8, 3, 5), NAN)
    lone[0, 0, 0, 0] = 2
    one_only = analyse(StudyRatings(key=KEY, raters=("a",), scores=lone), replicates=100)
    assert one_only.criteria[0].friedman is None
    assert one_only.criteria[0].means["zebra-vanilla"].value == 2
    assert np.isnan(one_only.criteria[0].spreads["zebra-vanilla"])
    assert np.isnan(one_only.criteria[0].contrasts[0].wilcoxon_holm)
    assert one_only.agreement.pairs == ()
    assert "nothing was rated" in study_notes(one_only)[1]
    with pytest.raises(DataError, match="not a single rating"):
        analyse(StudyRatings(key=KEY, raters=("a",), scores=np.full((1, 8, 3, 5), NAN)))


def test_ranks_by_hand():
    low, high = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    # rank sums 6 and 15 of 6: H = 12/42 (36/3 + 225/3) - 21
    assert kruskal_wallis([low, high]).statistic == pytest.approx(12 / 42 * 87 - 21)
    # z = (2 - 5) / sqrt(42/12 * 2/3) = -1.964
    assert dunn([low, high])[0] == pytest.approx(0.04953, abs=1e-5)
    assert friedman(np.array([[1.0, 2], [1, 2]])) is None
    # three rows that agree: chi2 = n (k - 1) = 6
    assert friedman(np.array([[1.0, 2, 3]] * 3)).statistic == pytest.approx(6)
    thirds = np.array([[0.1 + 0.2, 0.3, 1.0], [0.3, 0.1 + 0.2, 1.0]] * 2)
    assert friedman(thirds).statistic == pytest.approx(8)
    assert wilcoxon(thirds)[0] == 1.0


@pytest.mark.parametrize("n", range(1, 9))
def test_tied_differences_are_tested_as_scipy_does(n):
    blocks = np.random.default_rng(n).integers(0, 4, (n, 3)).astype(float)
    pairs = [blocks[:, i] - blocks[:, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    known = [scipy.stats.wilcoxon(d).pvalue if d.any() else 1.0 for d in pairs]
    assert wilcoxon(blocks) == pytest.approx(known)


def test_agreement_by_hand():
    scores = np.array([[1.0, 1], [2, 2], [3, 1], [NAN, 3]])
    met = coincidences(scores, 3)
    assert met[0].tolist() == [[2, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert met[3].sum() == 0
    # held 3, 2, 1 of 6; seen 2 * 4, expected (3*2*1 + 3*1*4 + 2*1*1) * 2
    assert float(alpha(met.sum(axis=0), "interval")) == pytest.approx(1 - 5 * 8 / 40)
    one, other = scores.T
    # two of three agree; by chance 1/3 * 2/3 + 1/3 * 1/3
    assert kappa(one, other, points=3) == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
    # misses weigh 4; expected by chance (0 + 1 + 1 + 0 + 4 + 4 ...) / 9
    assert kappa(one, other, points=3, quadratic=True) == pytest.approx(1 - 4 / (12 / 3))
    assert np.isnan(kappa(one, np.full(4, NAN), points=3))


# The report


def test_three_files_with_the_same_figures(tmp_path):
    given = simulated_ratings(SHEET, means(nova=4.5))
    found = analyse(given, replicates=200)
    written = write_study(found, tmp_path, made="2026-01-01", version="0")
    assert [p.name for p in written] == ["study.json", "report.html", "report.md"]
    told = json.loads((tmp_path / "study.json").read_text())
    html = (tmp_path / "report.html").read_text()
    mean = told["criteria"][0]["means"]["zebra-nova"]["value"]
    assert f"<td>{mean:.2f}<small>" in html
    assert f"| R3 zebra-nova | {mean:.2f} (" in (tmp_path / "report.md").read_text()
    assert told["simulated"] is True
    assert "Simulated: nobody gave these ratings" in html
    assert "**Simulated: nobody" in (tmp_path / "report.md").read_text()
    assert html.count("<svg") == 2
    for foreign in ("http://", "https://", "<script", " style="):
        assert foreign not in html
    named = tuple(replace(who, name=f"person {i}") for i, who in enumerate(found.raters))
    pairs = replace(found.agreement, pairs=())
    real = replace(found, simulated=False, raters=named, agreement=pairs)
    write_study(real, tmp_path, made="2026-01-01", version="0")
    assert "Simulated" not in (tmp_path / "report.html").read_text()
    assert "imulated" not in (tmp_path / "report.md").read_text()


def test_hostile_names_stay_names(tmp_path):
    evil = "<script>x</script>|`*\u202e"
    sheet = make_sheet(systems(names=(evil, "b")), questions=4)
    given = simulated_ratings(sheet, {evil: 2.0, "b": 4.0}, raters=2)
    found = analyse(replace(given, raters=(evil, "y")), replicates=100)
    write_study(found, tmp_path, made="2026-01-01", version="0")
    for name in ("report.html", "report.md"):
        text = (tmp_path / name).read_text()
        assert "<script" not in text
        assert "\u202e" not in text
    assert "needs three systems" in (tmp_path / "report.html").read_text()


def test_pictures_bear_gaps_and_few_criteria():
    scores = np.full((1, 8, 3, 5), NAN)
    scores[:, :, 0] = 3
    found = analyse(StudyRatings(key=KEY, raters=("a",), scores=scores), replicates=100)
    assert str(draw_bars(found)).count('class="hue-') == 5
    assert str(draw_radar(found)).count("<circle") == 15
    assert draw_radar(replace(found, criteria=found.criteria[:2])) == ""
    assert "NaN" not in str(draw_bars(found)) + str(draw_radar(found))
    assert "nan" not in str(draw_bars(found)) + str(draw_radar(found))
