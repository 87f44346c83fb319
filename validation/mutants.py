"""Break each law on purpose and see its test fail. Usage: python -m validation.mutants [PART]

Every mutant is one small, plausible mistake. A mutant that survives is a test that does not bite.
PART is of a mutant's name or of its file. `--check` runs nothing: it says which mutants name a
file, words or a test that are gone.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
S, M, X = "src/novarag/strategies/", "src/novarag/metrics/", "src/novarag/stats/"
R, L, W = "src/novarag/runs/", "src/novarag/llm/", "src/novarag/web/"
F, TD = "src/novarag/flows/", "tests/unit/flows/test_draws.py"
N, TN, TG = (
    "src/novarag/noise/",
    "tests/unit/noise/test_noise.py",
    "tests/unit/noise/test_training_groups.py",
)
TR = "tests/unit/noise/test_auditor_relations.py"
TW = "tests/unit/metrics/test_word_overlap.py"
TPD = "tests/unit/web/test_download.py"
TPU, TPC = "tests/unit/flows/test_public_data.py", "tests/unit/datasets/test_converters.py"
LAWS = "tests/laws/"
V, TE, TA = (
    "src/novarag/retrieval/",
    "tests/unit/retrieval/test_encoders.py",
    "tests/unit/retrieval/test_adapters.py",
)
TX = "tests/unit/flows/test_experiment.py"
TRD, TP, TO, TK = (
    "tests/unit/web/test_redaction.py",
    "tests/unit/web/test_endpoint.py",
    "tests/unit/web/test_reply_room.py",
    "tests/unit/cli/test_keys_cli.py",
)
Z, TZ = "src/novarag/llm/simulated/", "tests/unit/llm/test_simulated.py"
Y, TY = "src/novarag/study/", "tests/unit/study/test_study.py"
TI, TM = "tests/unit/retrieval/test_retrieval.py", "tests/unit/retrieval/test_milvus.py"
U, TU, LU = (
    "src/novarag/uncertainty/",
    "tests/unit/uncertainty/test_uncertainty.py",
    "tests/laws/test_uncertainty_laws.py",
)

C = "src/novarag/calibration/"
TC, TCM, TCF = (
    "tests/unit/calibration/test_calibration.py",
    "tests/unit/calibration/test_models.py",
    "tests/unit/flows/test_calibrate.py",
)
TGT, TGG, TGN, TGF = (
    "tests/unit/calibration/test_gate.py",
    "tests/unit/calibration/test_gating.py",
    "tests/unit/calibration/test_need.py",
    "tests/unit/flows/test_gate.py",
)
TLA = "tests/unit/flows/test_answer.py"

TSL, TSS, TTE = (
    "tests/unit/sft/test_levels.py",
    "tests/unit/sft/test_scored.py",
    "tests/unit/flows/test_teaching.py",
)

A = "src/novarag/gateway/audit/"
TAF, TAS, TAR, TAW = (
    "tests/unit/gateway/audit/test_frames.py",
    "tests/unit/gateway/audit/test_spool.py",
    "tests/unit/gateway/audit/test_recording.py",
    "tests/unit/gateway/audit/test_rows.py",
)

G, TGK, TGL, TGM, TGO, TGE, TGA = (
    "src/novarag/gateway/",
    "tests/unit/gateway/test_keys.py",
    "tests/unit/gateway/test_limits.py",
    "tests/unit/gateway/test_metrics.py",
    "tests/unit/gateway/test_logs.py",
    "tests/unit/gateway/test_telemetry.py",
    "tests/unit/gateway/test_openapi.py",
)

TDR, TGA, TST = (
    "tests/unit/calibration/test_drift.py",
    "tests/unit/calibration/test_gain.py",
    "tests/unit/gateway/test_status.py",
)

HARD = "tests/unit/strategies/test_reader_hardening.py"

MUTANTS = [
    ("percent read as fraction", S + "confidence.py", "return _bounded(float(number[0]) / 100)", "return _bounded(float(number[0]))", "tests/unit/core/test_traps.py"),
    ("one means one hundred percent", S + "confidence.py", "    return Flaw.AMBIGUOUS\n\n\ndef _bounded", "    return value\n\n\ndef _bounded", "tests/unit/strategies/test_confidence.py"),
    ("read: the number of a list is a confidence", S + "confidence.py", "int(number[\"whole\"]) <= _LISTED", "False", "tests/unit/strategies/test_steering.py"),
    ('ranges are guessed', S + "confidence.py", '    if _RANGE.match(tail):\n        return Flaw.RANGE\n    if sure :=', '    if sure :=', "tests/unit/strategies/test_confidence.py"),
    ("any digit is a digit", S + "confidence.py", "[0-9]{1,9})(?:", r"\d{1,9})(?:", "tests/unit/core/test_traps.py"),
    ("no upper bound", S + "confidence.py", "value if value <= 1 else Flaw.OUT_OF_BOUNDS", "value", LAWS + "test_reader_laws.py::test_fuzzed_replies"),
    ("first block instead of last", S + "reader.py", "_block(reply, *blocks[-1], labels, spans)", "_block(reply, *blocks[0], labels, spans)", "tests/unit/strategies/test_steering.py"),
    ('drafts in thoughts count', S + "reasoning.py", 'return mark.end if mark.closes else None', 'return 0 if mark.closes else None', LAWS + "test_reader_laws.py::test_what_was_thought_does_not_count"),
    ("classes need not be k", S + "judgment.py", "if k is not None and len(read) != k:", "if False:", LAWS + "test_reader_laws.py::test_fuzzed_replies"),
    ("quadratic look-back", S + "labels.py", 'floor = max(body, start - 24)\n    while start > floor and (c := text[start - 1]) != "\\n" and not c.isalnum():', 'floor = body\n    while start > floor and text[start - 1] != "\\n":', LAWS + "test_reader_laws.py::test_the_reader_is_linear"),
    ("exponential pattern", S + "judgment.py", r'r"[ \t*_`.;,]{0,64}$"', r'r"(?:[ \t]*[*_`.;, \t]*)*$"', LAWS + "test_reader_laws.py::test_every_pattern_is_linear"),
    ("passages not indented", S + "template.py", "{tamed(text)}", "{text}", LAWS + "test_rendering.py"),
    ("filled twice", S + "template.py", 'return "".join(filled)', 'return "".join(filled).replace("{k}", values["k"])', LAWS + "test_rendering.py"),
    ("question not indented", S + "template.py", "tamed(group.question.text)", "group.question.text", LAWS + "test_rendering.py"),
    ('only new lines are indented', S + "template.py", '"\\r\\n|[\\n\\r\\v', '"\\r\\n|[\\n', LAWS + "test_rendering.py"),
    ('quoted lines count', S + "quotations.py", 'line.lstrip()[:1] == ">":\n            return True\n        if self.framed', 'line.lstrip()[:1] == "?":\n            return True\n        if self.framed', "tests/unit/strategies/test_steering.py"),
    ('fences count', S + "quotations.py", '        found += _fences(text, body)\n', '', "tests/unit/strategies/test_steering.py"),
    ('quotation marks count', S + "quotations.py", '    if \'"\' in text:\n', '    if False:\n', "tests/unit/strategies/test_steering.py"),
    ('typographic marks count', S + "quotations.py", 'if not text.isascii() and any(', 'if False and any(', "tests/unit/strategies/test_steering.py"),
    ('comments and struck text count', S + "quotations.py", '        if opening in lower:\n', '        if False:\n', "tests/unit/strategies/test_steering.py"),
    ('indented lines count', S + "quotations.py", 'if start > self._first and _indent(line) - self._margin >= _INDENT:', 'if False:', "tests/unit/strategies/test_steering.py"),
    ('attributed lines count', S + "quotations.py", 'return self.attributes(start, max(start, label))', 'return False', "tests/unit/strategies/test_steering.py"),
    ('a whole fence is a quotation', S + "quotations.py", 'return span[0] <= self._first and span[1] >= self._last', 'return False', "tests/unit/strategies/test_steering.py"),
    ('copies count', S + "quoted_fields.py", 'return _with_copies(reply, marked, scale) if reply.passages else marked', 'return marked', "tests/unit/strategies/test_steering.py"),
    ('a copied answer is a quotation by itself', S + "quoted_fields.py", 'whole = paired and copied[other]', 'whole = True', "tests/unit/strategies/test_steering.py"),
    ('a number that goes on is a copy', S + "copies.py", 'if not (wanted[-1].isdigit() and _goes_on(passage, at + len(wanted))):', 'if True:', "tests/unit/strategies/test_steering.py"),
    ('blocks may disagree', S + "reader.py", 'return (read[0], Flaw.DISAGREE) if _is_contradicted(reply, pair, blocks, labels, read) else read', 'return read', "tests/unit/strategies/test_steering.py"),
    ('what follows the last block may disagree', S + "reader.py", ' | {f for f in pair if f > last}', '', "tests/unit/strategies/test_steering.py"),
    ('steps may disagree', S + "steps.py", 'if stated.setdefault(field.step, value) != value:', 'if stated.setdefault(field.step, value) is None:', "tests/unit/strategies/test_steering.py"),
    ('lists of classes may disagree', S + "reader.py", 'stated = lists[-1] if lists.count(lists[-1]) == len(lists) else _TWO_LISTS', 'stated = lists[-1]', "tests/unit/strategies/test_steering.py"),
    ('cut off replies count', S + "reader.py", 'if truncated and reading.flaw is None and not _is_complete(text, reading.spans):', 'if False:', "tests/unit/strategies/test_steering.py"),
    ('a value far below its label counts', S + "labels.py", 'text.count("\\n", field.value, start) > 1', 'False', "tests/unit/strategies/test_steering.py"),
    ('a number broken by a line counts', S + "values.py", 'return Flaw.MALFORMED if _GOES_ON.match(reply.text, end - 1) else stated', 'return stated', "tests/unit/strategies/test_steering.py"),
    ('words that turn a number round', S + "confidence.py", 'if turns_round(said) or _ORDERED.search(said):', 'if _ORDERED.search(said):', "tests/unit/strategies/test_steering.py"),
    ('a second confidence', S + "confidence.py", 'return Flaw.SECOND if short or _says_another(said, value) else None', 'return None', "tests/unit/strategies/test_steering.py"),
    ('anything may follow a number', S + "confidence.py", 'return Flaw.SECOND if _says_another(tail, value) else Flaw.DOUBT', 'return Flaw.SECOND if _says_another(tail, value) else None', "tests/unit/strategies/test_steering.py"),
    ('struck numbers', S + "confidence.py", '    if "~~" in text:\n        return Flaw.DOUBT\n', '', "tests/unit/strategies/test_steering.py"),
    ('quoted ends of reasoning', S + "reasoning.py", 'if not _is_quoted(lower, mark.start, mark.end, passages, fences):', 'if True:', "tests/unit/strategies/test_steering.py"),
    ('unclosed tags', S + "tagged.py", 'if close >= 0 and reply.text[field.value : close].strip():', 'close = close if close >= 0 else limit\n    if reply.text[field.value : close].strip():', "tests/unit/strategies/test_steering.py"),
    ('two keys of an object', S + "objects.py", '    if len({squeeze(text or "") for text in texts}) > 1:\n        return Flaw.DISAGREE\n', '', "tests/unit/strategies/test_steering.py"),
    ("borrowed confidences count", S + "reader.py", "Flaw.QUOTED if stated.borrowed and not isinstance(value, Flaw) else value", "value", "tests/unit/strategies/test_steering.py"),
    ('a quoted step is left out', S + "reader.py", '(labels.combine is not None and loses_step(fields))', 'False', "tests/unit/strategies/test_steering.py"),
    ('copied objects count', S + "reader.py", 'is_stated(stated, reply.stated) or is_copy(reply.text[start:end], reply.passages)', 'False', "tests/unit/strategies/test_steering.py"),
    ("what is commented out is unwrapped", S + "quotations.py", "spans = [*_hidden(text, lower, body), *written]", "spans = [s for s in _hidden(text, lower, body) if not self._is_whole(s)] + written", "tests/unit/strategies/test_steering.py"),
    ("forms leave quotations open", S + "forms.py", "|[^{_OPENERS}'])", "|[^<>{{}}\\\\r\\\\n'])", LAWS + "test_form_laws.py"),
    ('one frame for all', S + "frames.py", 'hmac.new(self.secret.encode(), filled, sha256)', 'hmac.new(self.secret.encode(), b"", sha256)', "tests/unit/strategies/test_steering.py"),
    ('labels without a frame', S + "labels.py", "answer=tuple([word + mark for word in self.answer for mark in marks])", 'answer=self.answer', "tests/unit/strategies/test_steering.py"),
    ("the paper's wordings are framed", S + "frames.py", 'if self.strategy.cites is not None:', 'if False:', "tests/unit/strategies/test_steering.py"),
    ("what follows the block is not looked at", S + "reader.py", "            stated = Flaw.DISAGREE\n    return Reading(", "            pass\n    return Reading(", HARD),
    ("blocks of steps may disagree", S + "steps.py", "if not says(reply, field, labels, (answer, 0.0)):", "if False:", HARD),
    ("an empty step is left out", S + "labels.py", "return field._replace(end=field.value) if field.part is STEP else None", "return None", HARD),
    ("passages are not decoded", S + "copies.py", "    plain = decoded(passage)\n", "    plain = passage\n", HARD),
    ("a label and its number stand side by side", S + "copies.py", "_FILLER = 60", "_FILLER = 0", HARD),
    ("filler has no bound", S + "copies.py", "_FILLER = 60", "_FILLER = 6000", HARD),
    ("frames see no quotations", S + "labels.py", "found = with_quotations(reply, found, labels.scale, framed=bool(labels.frame))", "found = found if labels.frame else with_quotations(reply, found, labels.scale)", HARD),
    ("objects of others are read", S + "reader.py", "value is None or not _is_own_object(reply, start, labels)", "value is None", HARD),
    ("counterfactual does not win", "src/novarag/taxonomy.py", "if PassageKind.COUNTERFACTUAL in present:", "if PassageKind.COUNTERFACTUAL in present and PassageKind.GOLD not in present:", LAWS + "test_core_laws.py"),
    ("rule premise turned over", "src/novarag/taxonomy.py", "PassageKind.GOLD not in present", "PassageKind.GOLD in present", LAWS + "test_core_laws.py"),
    ("conflict without claims", "src/novarag/grouping.py", "if len(claims) > 1:", "if len(false) > 1:", LAWS + "test_core_laws.py"),
    ("order not kept", "src/novarag/grouping.py", "order=tuple(order)", "order=tuple(sorted(order))", LAWS + "test_core_laws.py"),
    ("generator depends on call order", "src/novarag/seeding.py", "Random(stable_hash(str(seed), *keys))", "Random(stable_hash(str(seed)))", LAWS + "test_core_laws.py"),
    ("containment inside words", "src/novarag/grading.py", 'f" {needle} " in f" {haystack} "', "needle in haystack", "tests/unit/core/test_traps.py"),
    ("claims not graded first", "src/novarag/grading.py", "if claim != gold and contains(claim, gold):", "if False:", "tests/unit/core/test_traps.py"),
    ("json: nested as deep as can be", "src/novarag/texts.py", 'if whole_text.count("[") + whole_text.count("{") > DEEPEST and _depth(value) > DEEPEST:', "if False:", "tests/unit/core/test_texts.py"),
    ("toml: nested as deep as can be", "src/novarag/texts.py", "if _depth(value) > DEEPEST:  #", "if False:  #", "tests/unit/core/test_texts.py"),
    ("json: a mark of byte order is text", "src/novarag/texts.py", '_JSON.decode(whole_text.removeprefix("\\ufeff"))', "_JSON.decode(whole_text)", "tests/unit/datasets/test_datasets.py"),
    ("table: the first of two columns", "src/novarag/datasets/files.py", "    if twice and twice[0][1] > 1:\n", "    if False:\n", "tests/unit/datasets/test_datasets.py"),
    ("table: true is 1 among numbers", "src/novarag/datasets/files.py", "if bool in kinds and any(", "if False and any(", "tests/unit/datasets/test_datasets.py"),
    ("answers: a column of true is sure", "src/novarag/tables/cells.py", "    if isinstance(cell, bool):\n        return Seen(Looks.WORD)\n", "    if False:\n        return Seen(Looks.WORD)\n", "tests/unit/tables/test_tables.py"),
    ("tables: 1 is a percent among large ones", "src/novarag/tables/confidences.py", "if tally.has(Looks.ONE) and not tally.has(Looks.FEW):", "if False:", "tests/unit/tables/test_tables.py"),
    ("tables: both scales are one", "src/novarag/tables/confidences.py", "    if tally.has(Looks.FRACTION):\n", "    if False:\n", "tests/unit/tables/test_tables.py"),
    ("tables: up to ten is percents", "src/novarag/tables/confidences.py", "    if not tally.has(Looks.MANY):\n", "    if False:\n", "tests/unit/tables/test_tables.py"),
    ("tables: a bare fraction beside signs", "src/novarag/tables/confidences.py", "if not (tally.has(Looks.SIGNED) and", "if True or not (tally.has(Looks.SIGNED) and", "tests/unit/tables/test_tables.py"),
    ("tables: one star is right", "src/novarag/tables/grades.py", "<= set(_BINARY):", "<= set(_BINARY) or True:", "tests/unit/tables/test_tables.py"),
    ("tables: a percent is off by an ulp", "src/novarag/tables/cells.py", "round(number / top * 1e15) / 1e15", "number / top", "tests/unit/tables/test_tables.py"),
    ("tables: the first separator", "src/novarag/tables/dialect.py", "    return len(head) > 1, known, even, len(head)", "    return len(head) > 1, 0, False, 0", "tests/unit/tables/test_tables.py"),
    ("tables: a file decides for itself", "src/novarag/datasets/answers.py", "cells = self.cells(raw, confidence_kinds if many else confidence_cells)", "cells = self.cells(raw[:1], confidence_kinds if many else confidence_cells)", "tests/unit/datasets/test_open_table.py"),
    ("tables: formulas without results are empty", "src/novarag/datasets/archives.py", "    if _NO_RESULT.search(content):\n", "    if False:\n", "tests/unit/datasets/test_open_table.py"),
    ("address: any length of a host", "src/novarag/web/endpoint.py", "    _check_labels(url, host)\n", "", "tests/unit/llm/test_wire.py"),
    ("address: half a character names a model", "src/novarag/web/endpoint.py", "if not _is_whole(model):", "if False:", "tests/unit/llm/test_wire.py"),
    ("run: a newer manifest is a damaged one", "src/novarag/runs/manifest.py", "        _check_known(content, source)\n", "", "tests/unit/runs/test_runs.py"),
    ("run: a manifest may be another run's", "src/novarag/runs/manifest.py", 'manifest.run == content["run"] and ', "", "tests/unit/runs/test_runs.py"),
    ("file: a loop of links is replaced", "src/novarag/atomic.py", "if error.errno == errno.ELOOP:", "if False:", "tests/unit/core/test_atomic.py"),
    ("settings: any whole number", "src/novarag/config/tables.py", "abs(value) > LARGEST:", "False:", "tests/unit/presets/test_presets.py"),
    ("command line: any whole number", "src/novarag/cli/__init__.py", "        _bound(found)\n", "", "tests/unit/cli/test_exit_codes.py"),
    ("command line: recursion shows a traceback", "src/novarag/cli/__init__.py", "except _ONE_LINE as error:", "except (NovaragError, OSError) as error:", "tests/unit/cli/test_exit_codes.py"),
    ("command line: nobody sees where", "src/novarag/cli/__init__.py", "if os.environ.get(TRACEBACK):", "if False:", "tests/unit/cli/test_exit_codes.py"),
    ("command line: bytes that are no text", "src/novarag/cli/__init__.py", "        _check_words(sys.argv[1:])\n", "", "tests/unit/cli/test_exit_codes.py"),
    ("command line: an interrupt while loading", "src/novarag/__main__.py", "        _hush()\n        sys.exit(STOPPED)\n", "        raise\n", "tests/unit/cli/test_exit_codes.py"),
    ("command line: a lost interrupt stays lost", "src/novarag/__main__.py", "    again.start()\n", "", "tests/unit/cli/test_exit_codes.py"),
    ("command line: half-made loops complain", "src/novarag/__main__.py", "sys.unraisablehook = lambda _: None", "pass", "tests/unit/cli/test_exit_codes.py"),
    ("refusal is a no", "src/novarag/grading.py", "if is_refusal(answer) or any(", "if any(", "tests/unit/core/test_grading.py"),
    ("right-closed bins", M + "calibration.py", "level * bins + _EDGE", "level * bins - _EDGE", "tests/unit/core/test_traps.py"),
    ("float bin edges", M + "calibration.py", "level * bins + _EDGE", "level * bins", "tests/unit/core/test_traps.py"),
    ("gaps cancel in ece", M + "calibration.py", "return add_up(np.abs(gap)) / t.total", "return np.abs(add_up(gap)) / t.total", LAWS + "test_metric_laws.py"),
    ("ties count for nothing", M + "ranking.py", "np.cumsum(t.wrong, axis=-1) - t.wrong / 2", "np.cumsum(t.wrong, axis=-1) - t.wrong", LAWS + "test_metric_laws.py"),
    ("risk of ties taken at the end", M + "ranking.py", "(errors - before * share) * harmonic", "0 * harmonic", LAWS + "test_metric_laws.py"),
    ("risk exceeded", M + "ranking.py", "<= risk * accepted * (1 + 1e-12)", "<= risk * accepted + 1", LAWS + "test_metric_laws.py"),
    ("discrimination forgotten", M + "calibration.py", "return uncertainty(t) - _recalibrated_brier(t)", "return uncertainty(t)", LAWS + "test_metric_laws.py"),
    ("holm without order", X + "corrections.py", "np.maximum.accumulate(steps, axis=-1)", "steps", LAWS + "test_metric_laws.py"),
    ("rare losses are forgotten", X + "johnson.py", "np.maximum(p, _too_few_far(scores, least))", "p", "tests/unit/stats/test_johnson.py"),
    ("matching risk stays in a sum", "src/novarag/probes/scores.py", "- right - risk.pair - margin", "- right - margin", "tests/unit/probes/test_card.py"),
    ("an unread original speaks for a break", "src/novarag/probes/scores.py", "_both(first, unread=(1.0, 0.0)), _both(second, unread=(0.0, 1.0))\n    return", "_both(first, unread=(0.0, 1.0)), _both(second, unread=(0.0, 1.0))\n    return", "tests/unit/probes/test_card.py"),
    ("few questions are judged", "src/novarag/probes/card.py", "FEWEST = 50", "FEWEST = 5", "tests/unit/probes/test_card.py"),
    ("rows drawn, not questions", M + "tally.py", "np.unique(self.question, return_inverse=True)", "np.unique(np.arange(self.size), return_inverse=True)", "tests/unit/metrics/test_tally.py"),
    ("baseline sees its own fold", M + "baselines.py", "rest, here = own != f, own == f", "rest, here = own >= 0, own == f", "tests/unit/metrics/test_measure.py"),
    ("unread counted as zero", M + "views.py", "self.unread = np.isnan(self.confidence)", "self.confidence = np.nan_to_num(self.confidence)\n        self.unread = np.isnan(self.confidence)", "tests/unit/metrics/test_measure.py"),
    ("small groups reported", M + "views.py", "LEAST_ROWS, LEAST_QUESTIONS = 50, 10", "LEAST_ROWS, LEAST_QUESTIONS = 5, 5", "tests/unit/metrics/test_measure.py"),
    ("word overlap is fitted on what it is judged on", M + "baselines.py", "rest = np.flatnonzero(~test)", "rest = np.arange(test.size)", TW),
    ("word overlap stands where passages are unknown", M + "views.py", "and not np.isnan(overlap).any() and", "and", TW),
    ("a word of every question weighs as much as a rare one", "src/novarag/overlap.py", "{word: 1 / seen[word] for", "{word: 1.0 for", TW),
    ("a row has the overlap of another", F + "overlaps.py", 'how="left", maintain_order="left")\n\n\ndef with_own', 'how="left").reverse()\n\n\ndef with_own', TW),
    ("floor ignores questions", M + "baselines.py", "rng.random(used.size)[question]", "rng.random(question.size)", "tests/unit/metrics/test_measure.py"),
    ("alignment by confidence", "src/novarag/filters/alignment.py", '(pl.col("confidence") - target).abs()', 'pl.col("confidence")', "tests/unit/core/test_traps.py"),
    ("alignment: floating point breaks ties", "src/novarag/filters/alignment.py", ".abs().round(_DIGITS)", ".abs()", "tests/unit/filters/test_filters.py"),
    ("soft targets of what is left", "src/novarag/filters/alignment.py", 'fill_null(value=False).cast', 'cast', "tests/unit/filters/test_filters.py"),
    ("balance: every model draws its own", "src/novarag/filters/balance.py", 'order = pl.struct("_luck", "strategy")', 'order = pl.struct("model", "confidence", "_luck", "strategy")', "tests/unit/filters/test_filters.py"),
    ("rules: the step is not looked for", "src/novarag/filters/stages.py", '~pl.col("rule_step").fill_null(value=False)', 'pl.lit(False)', "tests/unit/filters/test_filters.py"),
    ("judgment: the group is not looked at", "src/novarag/filters/stages.py", 'pl.col("group_right") != pl.col("group_judged")', 'pl.lit(False)', "tests/unit/filters/test_filters.py"),
    ("funnel: questions may be cut in two", F + "filtering.py", "if len(distinct) < len(every):", "if False:", "tests/unit/flows/test_filtering.py"),
    ("funnel: an unfinished run is taken", F + "sources.py", "if run.missing and not partial:", "if False:", "tests/unit/flows/test_filtering.py"),
    ("reread: the table comes before its marker", R + "finished.py", "_write_marker(store, shard, replace(after, before=(marker.files[name], marker.counts)))", "pass", "tests/unit/flows/test_rereading.py"),
    ("reread: a cut exchange keeps the new counts", R + "finished.py", 'if old.vouches_for(store.read(name) or b""):', "if False:", "tests/unit/flows/test_rereading.py"),
    ("verdict: a value decides, not its interval", "src/novarag/report/verdict.py", "if ends.low <= 0 <= ends.high or abs(value) <= MARGIN:", "if abs(value) <= MARGIN:", "tests/unit/report/test_verdict.py"),
    ("verdict: a coin is good enough", "src/novarag/report/verdict.py", "if order is not None and order.low > COIN:", "if order is not None:", "tests/unit/report/test_verdict.py"),
    ("verdict: a wide gap counts as none", "src/novarag/report/verdict.py", "if ends.low >= -MARGIN and ends.high <= MARGIN:", "if True:", "tests/unit/report/test_verdict.py"),
    ("decide: thresholds are checked where they were chosen", "src/novarag/calibration/deciding.py", "graded.rows(first), graded.rows(~first)", "graded.rows(first), graded.rows(first)", "tests/unit/calibration/test_deciding.py"),
    ("decide: rows of one question count as many", "src/novarag/calibration/deciding.py", "sums = np.bincount(back, values - mean)", "sums = values - mean", "tests/unit/calibration/test_deciding.py"),
    ("decide: the unread are forgotten in what is kept", "src/novarag/calibration/deciding.py", "max(held.weights.sum(), _ALIKE)", "max(held.weights[held.read].sum(), _ALIKE)", "tests/unit/calibration/test_deciding.py"),
    ("page: texts are shown where they must not", "src/novarag/flows/measure.py", "seed=seed) if texts else {}", "seed=seed)", "tests/unit/report/test_read_back.py"),
    ("foreign text not escaped", "src/novarag/report/templating.py", "autoescape=escape", "autoescape=False", "tests/unit/report/test_report.py"),
    ("run: the last reply wins", R + "journal.py", 'self.replies.setdefault(event["key"], event)', 'self.replies[event["key"]] = event', "tests/unit/runs/test_journal.py"),
    ("run: checksums are not looked at", R + "log_frames.py", " and self._sum(before, payload) == int(head[1], 16)", "", "tests/unit/runs/test_journal.py"),
    ("run: a doubled record is taken twice", R + "chain_check.py", "if frame.link in self._seen:", "if False:", "tests/unit/runs/test_journal.py"),
    ("run: a lost end goes unnoticed", R + "chain_check.py", "if safe is not None and safe.head", "if False and safe.head", "tests/unit/runs/test_journal.py"),
    ("run: a lost end shows by its length alone", R + "chain_check.py", "safe.head.encode() not in self._seen | self._pointed", "size < safe.size", "tests/unit/runs/test_journal.py"),
    ("run: any record may follow any", R + "chain_check.py", "if not self._follows(frame, writer, number):", "if False:", "tests/unit/runs/test_journal.py"),
    ("run: a journal is tied to no shard", R + "log_frames.py", 'f"{run} {shard}".encode()', 'f"{run}".encode()', "tests/unit/runs/test_journal.py"),
    ("run: a journal is tied to no run", R + "log_frames.py", 'f"{run} {shard}".encode()', 'f"{shard}".encode()', "tests/unit/runs/test_journal.py"),
    ("run: a checksum does not begin with the root", R + "log_frames.py", "self._seed = crc32(self.root)", "self._seed = 0", "tests/unit/runs/test_journal.py"),
    ("run: a checksum leaves the link out", R + "log_frames.py", "crc32(payload, crc32(before, self._seed))", "crc32(payload, self._seed)", "tests/unit/runs/test_journal.py"),
    ("run: writers may overlap where there are locks", R + "chain_check.py", "return self._overlapping and (begins or", "return (begins or", "tests/unit/runs/test_journal.py"),
    ("run: writers may not overlap on an object store", R + "chain_check.py", "return self._overlapping and (begins or frame.before == self._tips.get(writer))", "return False", "tests/unit/runs/test_journal.py"),
    ("run: a gap beside known damage is known", R + "chain_check.py", "reported = [flaw for flaw in new if flaw.after not in fresh]", "reported = [flaw for flaw in new if flaw.after is None]", "tests/unit/runs/test_journal.py"),
    ("run: damage is told every time", R + "journal.py", "check.known.update(event[\"marks\"])", "pass", "tests/unit/runs/test_journal.py"),
    ("run: a torn end is told as damage", R + "chain_check.py", "if last is not None and last.torn and", "if False and", "tests/unit/runs/test_journal.py"),
    ("run: many foreign lines at the end are a torn one", R + "log_frames.py", 'torn = end == size and content.find(b"\\n", position, size - 1) < 0', "torn = end == size", "tests/unit/runs/test_journal.py"),
    ("run: the heartbeat has the wrong end", R + "journal.py", "self._mark = self._log.size, link", "self._mark = self._log.size, record[18:34]", "tests/unit/runs/test_journal_damage.py"),
    ("run: an error leaves the heartbeat behind", R + "shard.py", "with suppress(StorageError):  # what ended us is what is told\n                self._report(journal.sync(), released=True)", "pass", "tests/unit/runs/test_journal_damage.py"),
    ("run: no heartbeat before the journal", R + "shard.py", "self.lease.beat(past.safe, released=ends, durable=True)", "pass", "tests/unit/runs/test_journal_damage.py"),
    ("run: a lease that is gone is not told", R + "past.py", "    elif safe is None:\n", "    elif False:\n", "tests/unit/runs/test_journal_damage.py"),
    ("run: a journal of another shard is taken", R + "past.py", "if opened[\"shard\"] != shard:", "if False:", "tests/unit/runs/test_journal_damage.py"),
    ("run: a journal without links is taken for damage", R + "past.py", "if is_unlinked(content):", "if False:", "tests/unit/runs/test_journal_damage.py"),
    ("run: another version's journal is read", R + "past.py", "if opened[\"version\"] != VERSION:", "if False:", "tests/unit/runs/test_journal_damage.py"),
    ("run: a damaged lease of an empty journal is quiet", R + "past.py", " and not is_damaged(store, shard)", "", "tests/unit/runs/test_journal_damage.py"),
    ("run: a taken over lease forgets how far", R + "lease.py", "self.beat(None if found is None else mark_in(found))", "self.beat(None)", "tests/unit/runs/test_journal_damage.py"),
    ("run: a kill forgets what was damaged", R + "shard.py", "self.lease.unsaid = [] if ends else list(damage)", "pass", "tests/unit/runs/test_journal_damage.py"),
    ("run: who takes over forgets what was damaged", R + "lease.py", 'self.unsaid = found.get("unsaid", [])', "pass", "tests/unit/runs/test_journal_damage.py"),
    ("run: finished shards want to be written", R + "shard.py", "found = whole_counts(job.store, shard, job.manifest.run)", "found = None", "tests/unit/runs/test_who_may_read.py"),
    ("run: the manifest is written for the version's sake", R + "manifest.py", 'if found is None or {**found, "versions": None} != {**content, "versions": None}:', "if True:", "tests/unit/runs/test_who_may_read.py"),
    ("run: a planned manifest is written again", R + "planning.py", "if old != manifest:", "if True:", "tests/unit/runs/test_who_may_read.py"),
    ("run: what is not there is removed", R + "folder.py", "if path.exists():  # a disk", "if True:  # a disk", "tests/unit/runs/test_who_may_read.py"),
    ("run: files are as the umask says", R + "folder.py", "sweep=False, mode=self._files", "sweep=False", "tests/unit/runs/test_who_may_read.py"),
    ("run: logs and locks are as the umask says", R + "folder.py", "if new:\n            allow(handle, self._files)", "pass", "tests/unit/runs/test_who_may_read.py"),
    ("run: folders are as the umask says", R + "folder.py", "                allow(folder, self._folders)\n", "", "tests/unit/runs/test_who_may_read.py"),
    ("run: a resumed run is private again", R + "folder.py", 'self._folders, self._files = _GROUP if _is_open(root / "manifest.json") else _OWNER', "self._folders, self._files = _OWNER", "tests/unit/runs/test_who_may_read.py"),
    ("run: a worker elsewhere does not know who may read", R + "folder.py", "same._folders, same._files = self._folders, self._files", "pass", "tests/unit/runs/test_who_may_read.py"),
    ("run: a folder stops handing down its group", "src/novarag/atomic.py", "os.chmod(place, mode | handed_down)", "os.chmod(place, mode)", "tests/unit/runs/test_who_may_read.py"),
    ("run: a torn record swallows the next", R + "folder.py", 'self.append(b"\\n")  # a kill', "pass  # a kill", "tests/unit/runs/test_journal.py"),
    ("run: attempts are not journaled before they leave", R + "shard.py", "journal.sent(key, attempt.id, attempt.endpoint)", "pass", "tests/unit/runs/test_runs.py"),
    ("run: tables are trusted unseen", R + "finished.py", "if not _is_whole(store, name, known)", "if False", "tests/unit/runs/test_runs.py"),
    ("run: a reader trusts tables unseen", R + "reader.py", "if content is not None and marker.files[name].vouches_for(content):", "if content is not None:", "tests/unit/runs/test_run_reader.py"),
    ("read: a damaged marker is an unfinished shard", R + "reader.py", "marker = read_marker(self.store, shard, self.manifest.run)\n", "try:\n            marker = read_marker(self.store, shard, self.manifest.run)\n        except DamagedMarker:\n            marker = None\n", "tests/unit/runs/test_run_reader.py"),
    ("read: a marker may be another shard's", R + "finished.py", "if marker is None or marker.files.keys() != names:", "if marker is None:", "tests/unit/runs/test_run_reader.py"),
    ("read: a size is checksum enough", "src/novarag/checksums.py", "len(content) == self.size and crc32(content) == self.crc32", "len(content) == self.size", "tests/unit/runs/test_run_reader.py"),
    ("read: an exchanged table is damage", R + "reader.py", "for _ in range(2):", "for _ in range(1):", "tests/unit/runs/test_run_reader.py"),
    ("read: pools are believed unseen", F + "drafts.py", "or not files[name].vouches_for(content)", "", "tests/unit/runs/test_altered_tables.py"),
    ("share: the stated number still chooses", "src/novarag/filters/alignment.py", "distance = pl.lit(0.0)", "pass", "tests/unit/filters/test_filters.py"),
    ("share: only what is left counts", "src/novarag/filters/alignment.py", 'if options.alignment == "brier":', 'if options.alignment != "soft":', "tests/unit/filters/test_filters.py"),
    ("unfiltered: the misjudged fall", "src/novarag/filters/stages.py", "    if not options.judges:\n        return keep_all(trials)\n    wrong", "    wrong", "tests/unit/filters/test_filters.py"),
    ("released flags: any one passage may be misjudged", "src/novarag/filters/stages.py", "(one & (said == trials[EVIDENCE_PASSAGES]))", "one", "tests/unit/filters/test_released_flags.py"),
    ("released flags: the last reply of a group goes too", "src/novarag/filters/stages.py", "pl.min_horizontal((left * share).ceil(), left - 1)", "(left * share).ceil()", "tests/unit/filters/test_released_flags.py"),
    ("one-gold: an agreeing passage in place of noise", "src/novarag/noise/one_gold.py", "GroupKind.CONSISTENT: [gold, *rng.sample(sound.noise, k - 1)]", "GroupKind.CONSISTENT: [gold, *sound.gold[1:2], *rng.sample(sound.noise, k - 2)]", "tests/unit/noise/test_one_gold.py"),
    ("levels: rounded down at a tenth", "src/novarag/sft/levels.py", "floor(round(10 * confidence, _DIGITS))", "floor(10 * confidence - 1e-6)", TSL),
    ("levels: one digit", "src/novarag/sft/levels.py", "width = 2 if", "width = 1 if", TSL),
    ("levels: written and not read back", "src/novarag/sft/stated.py", "return made if same and after.confidence == levels.values[level] else None", "return made", TSL),
    ("export: a target is not written", "src/novarag/sft/filtered.py", '.get("alignment") in WRITTEN', '.get("alignment") in ()', TSL),
    ("mask: the first number of a reply", "src/novarag/sft/stated.py", 'finditer(completion, *reading.spans["confidence"])', "finditer(completion)", "tests/unit/sft/test_stated.py"),
    ("mask: a token too few", "src/novarag/sft/train/places.py", "last=held[-1] + 1", "last=held[-1]", "tests/unit/sft/test_stated.py"),
    ("scored: a grade before a target", "src/novarag/sft/train/scored.py", "if example.target is not None:", "if example.correct is None:", TSS),
    ("scored: levels that begin alike", "src/novarag/sft/train/scored.py", "numbers[one][0] == numbers[other][0] or ", "", TSS),
    ("scored: what is no level's token", "src/novarag/sft/train/scored.py", " and said[1:] == self.rest", "", TSS),
    ("teacher: graded by its own grades", F + "teaching.py", "chance = cross_fit(graded, seed=seed)", "chance = graded.correct * 0.8 + 0.1", TTE),
    ("teacher: unread samples do not count", F + "teaching.py", "/ pl.len().over(ASKED)", '/ pl.col("_said").count().over(ASKED)', TTE),
    ("teacher: no likelihood", F + "teaching.py", "signal=likelihoods,", "signal=None,", TTE),
    ("teacher: targets of another shard", F + "teaching.py", "whole.filter(shards == shard)", "whole.filter(shards == run.finished[0])", TTE),
    ("read: what was kept is believed unseen", "src/novarag/sft/filtered.py", "or not files[name].vouches_for(content)", "", "tests/unit/sft/test_export.py"),
    ("read: a data card is believed unseen", "src/novarag/sft/train/rows.py", "if not card_is_whole(stored):", "if False:", "tests/unit/sft/test_train.py"),
    ("read: rows are believed unseen", "src/novarag/sft/train/rows.py", "if known.get(name) != hashes.get(name):", "if False:", "tests/unit/sft/test_train.py"),
    ("read: a wrong answer was an abstention", "src/novarag/rows.py", "return Grade.ABSTAINED if abstained else Grade.WRONG", "return Grade.ABSTAINED", "tests/unit/core/test_rows.py"),
    ("run: the marker outlives what it vouched for", R + "shard.py", "self.store.remove(shard_name(self.shard))", "pass", "tests/unit/runs/test_runs.py"),
    ("run: a shard has no owner", R + "folder.py", "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", "tests/unit/runs/test_runs.py"),
    ("run: questions are cut in two", R + "planning.py", "self.shard_of = _ranks(np.frombuffer(questions, dtype=np.uint64)) // size", "self.shard_of = np.arange(len(questions)) // size", "tests/unit/runs/test_runs.py"),
    ("run: a half-written record stays when the disk is full", R + "folder.py", "os.ftruncate(self._handle, self.size)", "pass", "tests/unit/runs/test_runs.py"),
    ("run: requests for more samples share a seed", R + "requests.py", "else seed + first", "else seed", "tests/unit/runs/test_runs.py"),
    ("llm: refusals are tried again", "src/novarag/calls.py", "Outcome.CUT_OFF, Outcome.UNREACHABLE, Outcome.MALFORMED,\n", "Outcome.CUT_OFF, Outcome.UNREACHABLE, Outcome.MALFORMED, Outcome.REFUSED,\n", "tests/unit/llm/test_chat.py"),
    ("encoder: vectors in the order they came", V + "remote_encoder.py", "return [rows[place] for place in range(len(rows))]", 'return [row["embedding"] for row in content["data"]]', TE),
    ("encoder: a place taken twice", V + "remote_encoder.py", 'if len(rows) != len(content["data"]):', "if False:", TE),
    ("encoder: vectors are not counted", V + "remote_encoder.py", "if len(found) != count:", "if False:", TE),
    ("encoder: infinite vectors", V + "remote_encoder.py", "if not np.isfinite(vectors).all():", "if False:", TE),
    ("encoder: the dimension may change", V + "remote_encoder.py", "if dim is not None and vectors.shape[1] != dim:", "if False:", TE),
    ("encoder: texts count as numbers", V + "remote_encoder.py", 'raw.dtype.kind not in "fiu"', "False", TE),
    ("encoder: TEI always normalises", V + "remote_encoder.py", '"normalize": normalise', '"normalize": True', TE),
    ("encoder: pickles are read", V + "local_encoder.py", 'if pickled and not any(place.glob("*.safetensors")):', "if False:", TE),
    ("encoder: the pooling does not count", V + "local_encoder.py", "for place in _module_folders(folder):\n        for file", "for place in [folder]:\n        for file", TE),
    ("encoder: a package reaches outside itself", V + "local_encoder.py", "and folder.resolve().is_relative_to(Path(home).resolve())", "", TE),
    ("search: more than k", V + "adapters.py", '"passages")[:k])', '"passages"))', TA),
    ("search: the title is lost", V + "adapters.py", "else head + text", "else text", TA),
    ("search: the title is said twice", V + "adapters.py", "text if text.startswith(head) else head + text", "head + text", TA),
    ("search: lists are not counted", V + "adapters.py", "if len(lists) != len(queries):", "if False:", TA),
    ("search: functions block the loop", V + "adapters.py", "await asyncio.to_thread(work, what, k)", "work(what, k)", TA),
    ("search: LangChain is not told k", V + "adapters.py", '{"k": k} if told_k else {}', "{}", TA),
    ("search: LlamaIndex may give fewer", V + "adapters.py", "if isinstance(most, int) and most < k:", "if False:", TA),
    ("search: the model's key goes to the search", W + "endpoint.py", 'key_env=key_env or ""', "key_env=key_env or KEY", TA),
    ("index: a last passage of one word", V + "chunks.py", "short, longer = divmod(len(found), count)", "short, longer = words, 0", TI),
    ("index: the title only on the first passage", V + "chunks.py", "yield _passage(top + \" \".join(found[start:end])", "yield _passage((top if not number else \"\") + \" \".join(found[start:end])", TI),
    ("index: any analyzer of that name", V + "manifest.py", "if manifest.facts() != facts:", "if False:", TI),
    ("index: encoders are not compared", V + "manifest.py", "named = {f\"the encoder's {part}\": value for part, value in encoder.items()}", "named = {}", TI),
    ("index: what is there is added again", V + "milvus.py", 'passage = wanted.pop(row["key"])', 'passage = wanted[row["key"]]', TM),
    ("index: texts may change", V + "milvus.py", 'if passage.text != row["text"]:', "if False:", TM),
    ("index: ids are keys", V + "milvus.py", "return _hash(_source(passage))", "return _source(passage)[:32]", TM),
    ("index: other settings are overlooked", V + "milvus.py", "    if other:\n        index.close()", "    if False:\n        index.close()", TM),
    ("index: k1 is the engine's", V + "milvus.py", '"bm25_k1": manifest.k1', '"bm25_k1": 1.2', TM),
    ("index: b is the engine's", V + "milvus.py", '"bm25_b": manifest.b', '"bm25_b": 0.75', TM),
    ("index: deep ranks beat the first", V + "fusion.py", "CONSTANT = 2.0", "CONSTANT = 60.0", TI),
    ("index: orphans are not waited for", V + "milvus.py", "wait_for_orphans(uri)", "pass", TM),
    ("index: a second writer goes unnoticed", V + "building.py", "if after != before + growth.added:", "if False:", TM),
    ("index: any encoder will do", V + "building.py", "    if ours == theirs:\n        return", "    if ours and theirs:\n        return", TM),
    ("run: half a retrieval is believed", F + "experiment.py", 'return bool(known == hash_of(self._found))', "return True", TX),
    ("run: other settings go on in the same folder", F + "experiment.py", 'if any((self.out / "runs").glob("*/manifest.json")):', "if False:", TX),
    ("run: passages are shown by rank", F + "experiment.py", "if self.experiment.retrieve.shuffle:", "if False:", TX),
    ("run: settings are checked too late", F + "experiment.py", "await steps.check()", "pass", TX),
    ("llm: redirects are followed", W + "sending.py", "allow_redirects=False", "allow_redirects=True", "tests/unit/llm/test_chat.py"),
    ("keys: a reply is journaled as it came", L + "chat.py", "tuple(without_keys(c, self._sender.secrets) for c in completions)", "completions", "tests/unit/llm/test_chat.py"),
    ("keys: reasoning is kept as it came", L + "wire.py", "completion.reasoning and secrets.redact(completion.reasoning)", "completion.reasoning", "tests/unit/llm/test_chat.py"),
    ("keys: tokens are looked at one by one", L + "wire.py", "secrets.redact_parts(completion.tokens)", "tuple(map(secrets.redact, completion.tokens))", "tests/unit/llm/test_chat.py"),
    ("keys: alternatives are kept as they came", L + "wire.py", "others = secrets.redact_parts(names)", "others = names", "tests/unit/llm/test_chat.py"),
    ("keys: failures say what the server said", W + "sending.py", "clean = self.secrets.redact(failure.detail)", "clean = failure.detail", "tests/unit/llm/test_chat.py"),
    ("keys: names of models are shown as they came", L + "chat.py", "map(self._sender.secrets.redact, served[:5])", "served[:5]", "tests/unit/llm/test_chat.py"),
    ("keys: a touched reply has no remark", L + "chat.py", "() if clean == completions else (REMARK,)", "()", "tests/unit/llm/test_chat.py"),
    ("keys: the remark is not in the ledger", R + "journal.py", '{"remarks": list(reply.remarks)} if reply.remarks else {}', "{}", TK),
    ("keys: dummies are secrets", W + "key_forms.py", "SECRET = 16", "SECRET = 5", TRD),
    ("keys: a longer part is needed", W + "key_forms.py", "RUN = 12", "RUN = 13", TRD),
    ("keys: a shorter part is enough", W + "key_forms.py", "RUN = 12", "RUN = 11", TRD),
    ("keys: base64 begins where the key does", W + "key_forms.py", "for place in range(places):", "for place in range(1):", TRD),
    ("keys: not backwards", W + "key_forms.py", "yield key[::-1], RUN", "pass", TRD),
    ("keys: one layer of escapes", W + "redaction.py", "_LAYERS = 4", "_LAYERS = 1", TRD),
    ("keys: case counts", W + "redaction.py", "_FOLDED = bytes(range(256)).lower()", "_FOLDED = bytes(range(256))", TRD),
    ("keys: places are looked at too far apart", W + "redaction.py", '.tolist()[::2] if', '.tolist()[::4] if', TRD),
    ("keys: the mark may complete a key", W + "redaction.py", "while spans := self._spans(text):", "if spans := self._spans(text):", TRD),
    ("keys: wide letters are other letters", W + "unescaping.py", '"NFKD", text', '"NFC", text', TRD),
    ("keys: entities are text", W + "unescaping.py", 'return html.unescape(match["entity"])', 'return match["entity"]', TRD),
    ("keys: spans lose their way back", W + "unescaping.py", "else self._before.origin(begin, end - 1)", "else (begin, end)", TRD),
    ("keys: one key for all hosts", W + "sending.py", "refuse_shared_keys(endpoints)", "pass", TP),
    ("keys: the hosts of a run are not compared", F + "access.py", "refuse_shared_keys(endpoints)", "pass", TP),
    ("keys: dummies may not be shared", W + "endpoint.py", 'if is_secret(endpoint.key() or ""):', "if endpoint.key():", TP),
    ("keys: a host's own variable is overlooked", W + "endpoint.py", "return own if own in os.environ else self.key_env", "return self.key_env", TP),
    ("sizes: every reply may be the largest", L + "sizes.py", "return _FRAME + sampling.n * (sample_limit(sampling) + logprobs)", "return 32_000_000", "tests/unit/llm/test_sizes.py"),
    ("sizes: the limit is not passed on", L + "chat.py", "tell=tell, most=most)", "tell=tell)", TO),
    ("sizes: values are built uncounted", L + "wire.py", "    check_values(body, sampling)\n", "", "tests/unit/llm/test_sizes.py"),
    ("sizes: signs in texts are values", L + "sizes.py", "pieces[inside::2]", "pieces", "tests/unit/llm/test_sizes.py"),
    ("sizes: a text that goes on is over", L + "sizes.py", "inside = (inside + len(pieces) - 1) % 2", "inside = 0", "tests/unit/llm/test_sizes.py"),
    ("sizes: strings are not counted", L + "sizes.py", "signs.count(b'\"') > 2 * most or ", "", "tests/unit/llm/test_sizes.py"),
    ("sizes: many alternatives allow any number of values", L + "sizes.py", "_MOST_VALUES = 3_000_000", "_MOST_VALUES = 10**12", "tests/unit/llm/test_sizes.py"),
    ("sizes: all choices are built, however many", L + "wire.py", "if len(content[\"choices\"]) > sampling.n:", "if False:", "tests/unit/llm/test_sizes.py"),
    ("sizes: one sample takes all", L + "wire.py", 'if any(len(c.text) + len(c.reasoning or "") > most for c in completions):', "if False:", "tests/unit/llm/test_sizes.py"),
    ("sizes: nobody waits for room", W + "reply_room.py", "while self._taken and self._taken + size > self._most:", "while False:", TO),
    ("sizes: parcels unfold whole", W + "reply_room.py", "self._zip.decompress(piece, most)", "self._zip.decompress(piece)", TO),
    ("sizes: half a parcel is a reply", W + "reply_room.py", "if self._zip is not None and not self._zip.eof:", "if False:", TO),
    ("llm: Retry-After is ignored", W + "sending.py", ", after or 0.0)", ", 0.0)", "tests/unit/llm/test_chat.py"),
    ("llm: a woken waiter who leaves keeps the turn", W + "gate.py", "self.leave()  # our turn", "pass  # our turn", "tests/unit/web/test_gate.py"),
    ("llm: the openai key goes to everyone", W + "endpoint.py", "key_env or _OWN_KEYS.get(host, KEY)", 'key_env or "OPENAI_API_KEY"', "tests/unit/llm/test_wire.py"),
    ("llm: n is not checked", L + "wire.py", "if len(completions) != sampling.n:", "if False:", "tests/unit/llm/test_wire.py"),
    ("llm: random failures strangle the pace", W + "pace.py", "if share >= 0.5 * share_then:", "if False:", "tests/unit/web/test_pace.py"),
    ("noise: claims are not looked for", N + "validators.py", "if not _holds(text, claim):", "if False:", TN),
    ("noise: the gold answer inside a claim counts", N + "validators.py", '.replace(f" {claim} ", " | ")', "", TN),
    ("noise: an answer in the question is held against passages", N + "validators.py", " and not contains(asked, answer)", "", TN),
    ("noise: leaks are let through", N + "validators.py", "return Fault.LEAKS_GOLD if leaks else None", "return None", TN),
    ("noise: the first candidates are kept", N + "drafting.py", "sound[: -self.keep]", "sound[self.keep :]", TN),
    ("noise: the last of two with one number counts", N + "replies.py", "current = []  # said before", "current[:] = fresh  # said before", TN),
    ("noise: text is left as it was", N + "training_groups.py", "replace(passage, text=tidy(passage.text))", "passage", TG),
    ("noise: a borrowed passage may hold the answer", N + "training_groups.py", "return fault is None and not self._on_subject", "return not self._on_subject", TG),
    ("noise: a borrowed passage may be on the subject", N + "training_groups.py", " and not self._on_subject(passage.text)", "", TG),
    ("noise: a borrowed passage keeps its kind", N + "training_groups.py", "kind=PassageKind.IRRELEVANT, facet=None", "facet=None", TG),
    ("noise: groups are not shuffled", "src/novarag/grouping.py", ".shuffle(order)", ".random()", TG),
    ("noise: memory counts as a cue", N + "audit.py", "root[find(other)] = find(first)", "find(first)", TG),
    ("noise: the auditor judges on what it learnt", N + "audit.py", "fit(table[~test][:, kept], truth[~test]", "fit(table[:, kept], truth", TG),
    ("noise: columns are chosen with what they are judged on", N + "audit.py", "_most_telling(table[~test], truth[~test], best)", "_most_telling(table, truth, best)", TR),
    ("noise: a word of the answer may stay", N + "cutting.py", "if words.isdisjoint(folded(s).split())]", "if True]", "tests/unit/noise/test_cutting.py"),
    ("noise: evidence may lose its answer", N + "cutting.py", "if telling.isdisjoint(s)][:_MOST]", "if True][:_MOST]", "tests/unit/noise/test_cutting.py"),
    ("noise: evidence stays longer than what lost the answer", N + "cutting.py", "_EXACT * off + len(lost)", "len(lost)", "tests/unit/noise/test_cutting.py"),
    ("noise: an answer that the question names is cut out", N + "cutting.py", "        if not own:\n            return None\n", "", "tests/unit/noise/test_cutting.py"),
    ("noise: a group without evidence need not be topical", N + "training_groups.py", '("apart",) if self.topical else _FIRST', "_FIRST", "tests/unit/noise/test_cutting.py"),
    ("noise: the question's words may tell the kinds of evidence apart", N + "surface.py", "look=Surface.beside_question, evidence=True", "look=Surface.beside_question, gates=False", TR),
    ("noise: the question's words gate", N + "surface.py", "look=Surface.beside_question, gates=False", "look=Surface.beside_question", TR),
    ("noise: an interval is that of one comparison", "src/novarag/stats/simultaneous.py", ".max(axis=1, initial=0.0)", "[:, :1].max(axis=1, initial=0.0)", TR),
    ("noise: words of equal count stand as they come", N + "surface.py", "sorted((-n, word) for word, n in seen.items() if n >= _RARE)", "sorted(((-n, word) for word, n in seen.items() if n >= _RARE), key=lambda x: x[0])", TR),
    ("noise: a shared sentence is any pair's", N + "relations.py", "if i < j < len(group.words):\n                cells[row, at] = group.shared(i, j)", "if i < j < len(group.words):\n                cells[row, at] = group.shared(0, 1)", TR),
    ("noise: a shortcut needs no interval", N + "audit.py", "f.excess > self.margin and f.low > 0", "f.excess > self.margin", TR),
    ("method: unread samples are left out of the share", U + "sampled.py", "len(winner) / len(samples)", "len(winner) / sum(t.response is not None for t in samples)", TU),
    ("method: unread samples are alike", U + "compared.py", "0.0 if one is None or two is None else rouge_l(one, two)", "rouge_l(one or (), two or ())", LU),
    ("method: an unread sample is joined to all", U + "compared.py", "    if one is None or two is None:\n        return 0.0", "    if one is None or two is None:\n        return 1.0", LU),
    ("method: meanings scaled by N", U + "compared.py", "/ (count - 1), _DIGITS)", "/ count, _DIGITS)", LU),
    ("method: eigenvalues break ties", U + "compared.py", "_DIGITS = 12", "_DIGITS = 17", LU),
    ("method: entropy scaled by what was read", U + "semantic.py", "count = len(samples)", "count = max(2, len(read))", TU),
    ("method: entailment one way is enough", U + "semantic.py", "there and back for", "there or back for", TU),
    ("method: true is not held against false", U + "asked.py", "fsum(w for _, w in weights)", "fsum(exp(lp - top) for _, lp in verdicts[0].completion.alternatives)", TU),
    ("method: one spelling of true", U + "asked.py", '_NOT_A_LETTER.sub("", token).casefold()', "token.lower()", TU),
    ("method: the answer is where its words stand last", U + "likely.py", "if reading.answer == stated.answer:", "if False:", TU),
    ("method: the first place among the tokens", U + "likely.py", "whole.rfind(wanted, 0, at)", "whole.find(wanted, 0, at)", TU),
    ("method: the whole reply is likely", U + "likely.py", "said.logprobs[_held(said.tokens, len(whole), first, last)]", "said.logprobs", TU),
    ("method: a token that only touches the answer counts", U + "likely.py", "if not stop and length < last:", "if not stop and length <= last:", TU),
    ("answer: a gate on stated confidences decides by others", "src/novarag/scoring/scorer.py", "stated if self._by_stated else confidence, state", "confidence, state", TLA),
    ("answer: a gate takes any calibration", "src/novarag/scoring/scorer.py", "if gate is not None and not self._by_stated:", "if False:", TLA),
    ("answer: parts of another model are taken", "src/novarag/scoring/provenance.py", "if not other_source:", "if False:", TLA),
    ("answer: a name that comes with the reply is not looked at", "src/novarag/scoring/scorer.py", "named or UNKNOWN if self._source.model == UNKNOWN else self._source.model", "self._source.model", TLA),
    ("answer: an unread reply is left open", "src/novarag/scoring/scorer.py", 'decision="abstain",', "decision=None,", TLA),
    ("answer: a missing signal is not said", "src/novarag/scoring/scorer.py", "        if signal is not None:\n            return notes\n", "        return notes\n", TLA),
    ("answer: the threshold explains another state", "src/novarag/scoring/scorer.py", "if self.gate.state in {None, state}:", "if True:", TLA),
    ("answer: a server without log-probabilities fails", F + "answerer.py", "if error.outcome not in _NO_LOGPROBS:", "if True:", TLA),
    ("answer: any failure is asked again without log-probabilities", F + "answerer.py", "if error.outcome not in _NO_LOGPROBS:", "if False:", TLA),
    ("answer: log-probabilities are asked for in vain each time", F + "answerer.py", "        self._with_logprobs = None\n", "        pass\n", TLA),
    ("answer: a frame serves many questions", F + "answerer.py", "self._strategy.framed() if self._frame else", "self._strategy.framed('1') if self._frame else", TLA),
    ("answer: a plain function holds up the loop", L + "functions.py", "await asyncio.to_thread(self._begin, *given)", "self._begin(*given)", TLA),
    ("simulated: the first answer is always right", Z + "respondent.py", "place = _place(chances, traits.luck)", "place = 0", TZ + "::test_an_obeying_respondent_is_right_as_often_as_it_believes"),
    ("simulated: heat does nothing", Z + "respondent.py", "(weight / most) ** (1 / temperature)", "weight / most", TZ + "::test_samples_are_drawn_from_the_shares_and_cold_ones_are_the_likeliest"),
    ("simulated: keys do not count", Z + "__init__.py", "(key or \"\", str(sampling.seed))", "()", TZ + "::test_the_same_seed_says_the_same_and_another_key_something_else"),
    ("simulated: a broken rule is broken everywhere", Z + "respondent.py", "if rule is not None and rule not in respondent.obeys:", "if respondent.obeys != frozenset(Rule):", TZ + "::test_who_breaks_a_rule_is_sure_where_it_governs_and_nowhere_else"),
    ("simulated: claims may be right", Z + "world.py", "if grade_in(group, answer) is Grade.WRONG:", "if True:", TZ + "::test_wrong_answers_are_claims_first_and_never_right"),
    ("simulated: the follow-up believes anything", Z + "__init__.py", "prospect.beliefs[words.index(given)] if given in words else _UNHEARD", "prospect.beliefs[0]", TZ + "::test_a_follow_up_is_answered_by_what_it_believes"),
    ("ablation: agreeing passages conflict", M + "ablation.py", "is EvidenceState.CONSISTENT else", "is EvidenceState.INSUFFICIENT else", "tests/unit/metrics/test_ablation.py"),
    ("ablation: the rest is tuned", M + "ablation.py", "base.select(columns).filter(~inside), tuned.select(columns).filter(inside)", "base.select(columns).filter(inside), tuned.select(columns).filter(~inside)", "tests/unit/metrics/test_ablation.py"),
    ("ablation: groups need not be the same", M + "ablation.py", "if not held[0].equals(held[1]):", "if False:", "tests/unit/metrics/test_ablation.py"),
    ("study: the order is the same for every question", Y + "sheet.py", 'rng_for(seed, "study", *place).shuffle(order)', 'rng_for(seed, "study").shuffle(order)', TY),
    ("letter: one set has all the questions", Y + "sheet.py", "drawn = _in_turn(drawn, parts)[:questions]", "drawn = drawn[:questions]", TY),
    ("letter: a table is left out though its groups are there", F + "reproduce/bench.py", ' and not self._file(setting, dataset).is_file()', "", "tests/unit/cli/test_reproduce_cli.py"),
    ("letter: replies at test have no end", "src/novarag/config/grid.py", "if self.ask.max_tokens is None:", "if False:", "tests/unit/reproduction/test_reproduction.py"),
    ("letter: the tuned model's methods move too", "src/novarag/config/grid.py", "system.method != VERBAL and system.strategy == TABLE.method_strategy", "system.method != VERBAL", "tests/unit/reproduction/test_reproduction.py"),
    ("letter: the learning rate never rises", "src/novarag/sft/train/settings.py", "return ceil(self.steps(samples) * self.warmup)", "return int(self.steps(samples) * self.warmup)", "tests/unit/sft/test_train.py"),
    ("letter: kept rows are looked for in the first shard", F + "harvest.py", "begin += rows", "begin += 0", "tests/unit/flows/test_filtering.py"),
    ("study: the blindfold stays on", Y + "ratings.py", "key.entries[entry - 1].order[shown]", "shown", TY),
    ("study: a rater counts twice", Y + "ratings.py", '" ".join(rater.casefold().split())', "source", TY),
    ("study: a missing system does not count against a rater", Y + "analysis.py", "np.isnan(scores).any(axis=2)", "np.isnan(scores).all(axis=2)", TY),
    ("study: raters count as questions", Y + "analysis.py", "test = friedman(blocks) if kept.any() else None", "test = friedman(scores.reshape(-1, scores.shape[2]))", TY),
    ("study: ordinal is interval", X + "agreement.py", 'if level == "ordinal":', "if False:", "tests/oracles/test_study.py"),
    ("study: lone ratings count", X + "agreement.py", "pairs -= votes[:, :, None] * np.eye(points)", "pairs -= 0", LAWS + "test_study_laws.py"),
    ("study: ties are forgotten", X + "ranks.py", "(ties**3 - ties).sum()", "0 * ties.sum()", LAWS + "test_study_laws.py"),
    ("study: thirds do not tie", X + "ranks.py", "table = np.round(blocks, _DIGITS)", "table = blocks", TY),
    ("study: a sheet in use is replaced", F + "study.py", ".sheet != made", ".sheet == ''", "tests/unit/cli/test_study_cli.py"),
    ("study: texts are not escaped", "src/novarag/report/templating.py", 'open_template(name, escape=True, filters', 'open_template(name, escape=False, filters', "tests/browser/test_study_sheet.py"),
    ("study: ratings are not kept", "src/novarag/report/templates/sheet.js", "localStorage.setItem(place", 'localStorage.setItem("x"', "tests/browser/test_study_sheet.py"),
    ("draw: three samples pay for ten", U + "needs.py", "and self.samples >= other.samples", "and True", "tests/unit/uncertainty/test_uncertainty.py"),
    ("draw: temperatures are merged", U + "needs.py", "return self.strategy, self.follow_up, self.temperature", "return self.strategy, self.follow_up, 0.0", "tests/unit/cli/test_estimate_cli.py"),
    ("draw: a failed request is a flaw", F + "estimates.py", "        if not _failed(method, found):\n            trials", "        if True:\n            trials", "tests/unit/cli/test_estimate_cli.py"),
    ("draw: follow-ups of other groups", F + "draws.py", "trials.get(str(group.id), ())", "next(iter(trials.values()))", TD),
    ("draw: a method sees the grade", F + "estimates.py", "run.trials(shard, graded=False)", "run.trials(shard)", TD),
    ("draw: unpaid attempts cost", R + "reader.py", "if Outcome(o).paid is Paid.YES", "if o", TD),
    ("table: an average over a part", F + "reproduce/cells.py", "and len(mine) == len(grid.datasets)", "", "tests/unit/reproduction/test_reproduction.py"),
    ("table: the paper's other place", F + "reproduce/papers.py", '        _same("position", setting.gold_at),\n', "", "tests/unit/reproduction/test_reproduction.py"),
    ("table: the paper's tuned for its base", F + "reproduce/papers.py", "is_in([setting.mix, system.model])", "is_not_null()", "tests/unit/reproduction/test_reproduction.py"),
    ("table: few questions at random", F + "reproduce/groups.py", 'key=lambda g: luck(g, "whether")', 'key=lambda g: g.passages[0].text', "tests/unit/reproduction/test_reproduction.py"),
    ("calibration: leaving it alone weighs nothing", C + "fitting.py", "weights, identity = _weigh(fits.evidence, stays, _LEAVE_ALONE)", "weights, identity = _weigh(fits.evidence, -1e9, _LEAVE_ALONE)", TC),
    ("calibration: states do not matter", C + "models.py", "own = np.eye(cells.states + 1)[cells.state][:, :-1]", "own = 0 * np.eye(cells.states + 1)[cells.state][:, :-1]", TC),
    ("calibration: no prior", C + "models.py", "slope = (cells.right - cells.count * chance) @ design - precision * (at - mean)", "slope = (cells.right - cells.count * chance) @ design", TCM),
    ("calibration: evidence without its volume", C + "models.py", "0.5 * np.linalg.slogdet(curvature)[1]", "0.0", TCM),
    ("calibration: an unseen state is as sure as a seen one", C + "models.py", "spread[:, -1, 0, 0] += np.array([a for a, _ in _SPREADS]) ** 2", "spread[:, -1, 0, 0] += 0", TC),
    ("smooth ECE: no reflection", M + "calibration.py", "np.concatenate([grid, grid[:, -2:0:-1]], axis=1)", "np.concatenate([grid, 0 * grid[:, -2:0:-1]], axis=1)", "tests/unit/metrics/test_smooth_ece.py"),
    ("smooth ECE: ends count half", M + "calibration.py", "grid[:, [0, -1]] *= 2", "pass", "tests/unit/metrics/test_smooth_ece.py"),
    ("calibration: folds by row", C + "fitting.py", "fold = _folds(graded.question, seed, folds)[read]", "fold = _folds(np.arange(len(graded)), seed, folds)[read]", "tests/unit/calibration/test_counted.py::test_all_rows_of_a_question_are_calibrated_by_fits_that_saw_none_of_them"),
    ("calibration: no prior of leaving it alone", C + "fitting.py", "_LEAVE_ALONE = 0.5  #", "_LEAVE_ALONE = 1e-9  #", "tests/unit/calibration/test_counted.py::test_leaving_confidences_alone_begins_with_even_odds"),
    ("calibration: rows of one question count in full", C + "fitting.py", "part = 1 / counted.design_effect", "part = 1.0", TC),
    ("calibration: folds are fitted on themselves", C + "fitting.py", "counted.keep(counted.rows - rows, counted.right - right, of_question != held)", "counted", TC),
    ("calibration: judged on its own rows", F + "calibrate.py", "if shared or fitted.digest == rows.digest:", "if fitted.digest == rows.digest:", TCF),
    ("calibration: another model is welcome", F + "calibrate.py", "if differs is not None:", "if False:", TCF),
    ("calibration: few questions will do", C + "fitting.py", "if questions < LEAST_QUESTIONS:", "if questions < 2:", TC),
    ("calibration: level effects unweighed", C + "levels.py", "evidence = np.log(_BELIEVED) + [total for total, _, _ in moments]", "evidence = np.log(_BELIEVED)", TCM),
    ("calibration: a missing signal is an average one", C + "calibration.py", "np.where(missing, 1.0, scores**2)", "np.where(missing, 0.0, scores**2)", TC),
    ("calibration: outside is inside", C + "calibration.py", "if seen.least <= confidence <= seen.most:", "if True:", TC),
    ("gate: a failed test does not end the chain", C + "sequence.py", "carried = level[at] if passed else 0.0", "carried = level[at]", TGG),
    ("gate: each start has the whole level", C + "sequence.py", "return [Start(strict, STRICT * delta), Start(main, (1 - STRICT) * delta)]", "return [Start(strict, delta), Start(main, delta)]", TGG),
    ("gate: pointwise, every threshold has the whole level", C + "sequence.py", "level[at] = carried + new", "level[at] = 0.1", TGG),
    ("gate: picked rows are not thinned", C + "sequence.py", "kept = sample.coin[:end] * weight.max() < weight", "kept = sample.coin[:end] < 2", TGG),
    ("gate: rows of one question count in full", C + "sequence.py", "size = min(max(rate * (1 - rate) / variance, 1.0), total)", "size = total", TGG),
    ("gate: all rows of a question", C + "gating.py", "chosen = np.sort(order[first])", "chosen = np.sort(order)", TGG),
    ("gate: unread replies are answered", C + "gate.py", "if score is None or score != score:", "if score is None:", TGT),
    ("gate: both chains have the whole level", C + "gating.py", "return [chain(read, None, 0.5), chain(own, state, 0.5)]", "return [chain(read, None, 1.0), chain(own, state, 1.0)]", TGG),
    ("gate: other evidence is answered", C + "gate.py", "if self.state is not None and state != self.state:", "if False:", TGT),
    ("gate: no room for rounding", C + "gate.py", "if score >= threshold - _ALIKE:", "if score > threshold:", TGT),
    ("gate: set on questions of its calibration", F + "gate.py", "    check_unseen(made, taken)\n", "", TGF),
    ("gate: any score will do", F + "gate.py", "if gate.score != score_name(calibration):", "if False:", TGF),
    ("need: any power will do", C + "need.py", "power >= POWER", "power >= 0.05", TGN),
    ("picked: weights are forgotten", C + "picking.py", "np.where(graded, each[stratum], 0.0)", "np.where(graded, 1.0, 0.0)", "tests/unit/calibration/test_picking.py"),
    ("picked: unread replies go onto the sheet", C + "picking.py", "read = ~np.isnan(confidence[frame])", "read = np.ones(frame.size, dtype=np.bool_)", "tests/unit/calibration/test_picking.py"),
    ("picked: the share of unread replies is lost", C + "picking.py", "unread_weight=unread.size / few if few else 1.0", "unread_weight=1.0", "tests/unit/calibration/test_picking.py"),
    ("picked: the first row of a question", C + "picking.py", "order = rng.permutation(question.size)", "order = np.arange(question.size)", "tests/unit/calibration/test_picking.py"),
    ("picked: two rows of a question", C + "picking.py", "frame = one_a_question(question, rng)", "frame = np.arange(question.size)", "tests/unit/calibration/test_picking.py"),
    ("picked: the same rows for every seed", C + "picking.py", 'seed_for(seed, "pick")', 'seed_for(0, "pick")', "tests/unit/calibration/test_picking.py"),
    ("picked: the first of a stratum", C + "picking.py", "rng.choice(own, k, replace=False)", "own[:k]", "tests/unit/calibration/test_picking.py"),
    ("picked: stratum by stratum on the sheet", C + "picking.py", "picked = rng.permutation(np.concatenate(drawn))", "picked = np.concatenate(drawn)", "tests/unit/calibration/test_picking.py"),
    ("picked: states are put together", C + "picking.py", "bands = [np.flatnonzero(cells // level.size == i) for i in range(states.size)]", "bands = [np.arange(cells.size)]", "tests/unit/calibration/test_picking.py"),
    ("picked: bands without rows enough", C + "picking.py", "between[(below < least) | (above < least)] = 0.0", "pass", "tests/unit/calibration/test_picking.py"),
    ("picked: no least rows", C + "picking.py", "wanted = _scaled(wish, np.minimum(sizes, LEAST_ROWS), sizes, n)", "wanted = _scaled(wish, np.minimum(sizes, 0), sizes, n)", "tests/unit/calibration/test_picking.py"),
    ("picked: more than there is", C + "picking.py", "return np.clip(most * wish, low, high)", "return np.maximum(most * wish, low)", "tests/unit/calibration/test_picking.py"),
    ("picked: all strata alike", C + "picking.py", "wish = sizes * ((1 - spread) / sizes.sum() + spread", "wish = 1 + 0 * sizes * ((1 - spread) / sizes.sum() + spread", "tests/unit/calibration/test_picking.py"),
    ("picked: rows that nobody graded keep their weight", C + "picking.py", "got = np.bincount(stratum[graded], minlength=len(strata))", "got = np.bincount(stratum, minlength=len(strata))", "tests/unit/calibration/test_picking.py"),
    ("picked: another state stands in", C + "picking.py", "strata[i].state != lost.state,", "strata[i].state == lost.state,", "tests/unit/calibration/test_picking.py"),
    ("picked: unread replies fall out of the graded table", F + "pick.py", 'pl.Series("correct", [*correct, *[False] * unread], dtype=pl.Boolean)', 'pl.Series("correct", [*correct, *[None] * unread], dtype=pl.Boolean)', "tests/unit/flows/test_pick.py"),
    ("picked: questions of a calibration are graded again", F + "pick.py", "if name not in known]", "if name or name not in known]", "tests/unit/flows/test_pick.py"),
    ("picked: who cannot tell overrules", Y + "grades.py", "decided = given - {CANNOT_TELL}", "decided = given", "tests/unit/flows/test_pick.py"),
    ("data: a file longer than the register says is taken", W + "download.py", "if size > wanted.size:", "if False:", TPD),
    ("data: a file is not held to its checksum", W + "download.py", "if hashed.hexdigest() != wanted.sha256:", "if False:", TPD),
    ("data: a redirect may fall from https to http", W + "download.py", 'if url.scheme == "https" and target.scheme == "http":', "if False:", TPD),
    ("data: a redirect may leave the web", W + "download.py", 'target.scheme not in {"http", "https"}', 'target.scheme in {""}', TPD),
    ("data: what is no such file is fetched again", W + "download.py", "if not refused.again or number == attempts:", "if number == attempts:", TPD),
    ("data: a table with other rows is written", F + "public_data.py", "if table_digest(made, schema) != table.digest:", "if False:", TPU),
    ("data: a file in the way is taken for the table", F + "public_data.py", "if not is_table(path, table.converter, table.digest):", "if False:", TPU),
    ("data: what was fetched is fetched again", F + "public_data.py", "if not (path.is_file() and file_checksum(path).sha256 == file.sha256):", "if True:", TPU),
    ("data: what was fetched is not looked at again", F + "public_data.py", "if not (path.is_file() and file_checksum(path).sha256 == file.sha256):", "if not path.is_file():", TPU),
    ("data: fields beside those that count change the digest", "src/novarag/datasets/converters.py", "return {field.name: _like(value[field.name], field.dtype) for field in kind.fields}", "return value", TPC),
    ("data: accents make another question", "src/novarag/datasets/released.py", 'plain = "".join(c for c in plain if not unicodedata.combining(c))', "", TPC),
    ("data: questions of the same words keep their own gold", "src/novarag/datasets/public_retrieval.py", 'row["gold_ids"] = gold', "pass", TPC),
    ("spool: no checksum", A + "frames.py", " and crc32(payload) == int(head[1], 16)", "", TAF),
    ("spool: damage ends the file", A + "frames.py", "        if following is not None:\n", "        if False:\n", TAF),
    ("spool: a cut record is damage", A + "frames.py", "damage += 0 if torn else size - place", "damage += size - place", TAF),
    ("spool: damage is silent", A + "frames.py", "            damage += following - place\n", "", TAF),
    ("spool: no limit", A + "spool.py", "if self.waiting + len(content) > self._limit:", "if False:", TAS),
    ("spool: the living are robbed", A + "spool.py", "if not _lock(handle) or (state := os.fstat(handle)).st_nlink == 0:", "if (state := os.fstat(handle)).st_nlink == 0:", TAS),
    ("spool: what another finished is taken", A + "spool.py", "(state := os.fstat(handle)).st_nlink == 0:", "(state := os.fstat(handle)).st_nlink < 0:", TAS),
    ("spool: written to a deleted file", A + "spool.py", "if _lock(handle) and os.fstat(handle).st_nlink:", "if _lock(handle):", TAS),
    ("spool: deleted before it is committed", A + "spool.py", "segment.close(delete=segment.done >= segment.size)", "segment.close(delete=True)", TAR),
    ("spool: emptied before it is committed", A + "spool.py", "if segment.done == segment.size >= _EMPTY and", "if segment.size >= _EMPTY and", TAS + "::test_a_live_segment_keeps_what_is_not_committed"),
    ("spool: damaged files are deleted", A + "spool.py", "if delete and self.damage:", "if False:", TAS),
    ("spool: half a record stays", A + "spool.py", "    os.ftruncate(segment.handle, segment.size)\n    segment.torn = False", "    segment.torn = False", TAS),
    ("spool: anybody may read", A + "spool.py", "os.O_APPEND, 0o600)", "os.O_APPEND, 0o644)", TAS),
    ("audit: texts kept unasked", A + "rows.py", "question=_clean(question) if self._keep else None", "question=_clean(question)", TAW),
    ("audit: digests without the key", A + "rows.py", "digest_size=8, key=self._key)", "digest_size=8)", TAW),
    ("audit: unknown forms are guessed at", A + "payloads.py", "if version != VERSION or kind", "if kind", TAW),
    ("audit: a full spool passes for kept", A + "recording.py", "        self._lost += 1\n        return False", "        self._lost += 1\n        return True", TAR),
    ("audit: full, and never refused", A + "recording.py", 'if self.settings.when_full == "refuse":', "if False:", TAR),
    ("audit: errors are logged in full", A + "recording.py", 'what = type(error).__name__ + (f", {code}" if code else "")', "what = repr(error)", TAR),
    ("feedback: ids of any time", A + "feedback.py", "if not now - timedelta(days=days) <= made <= now + _AHEAD:", "if False:", TAR),
    ('the first of two keys counts', G + 'keys.py', 'if len(found) != 1 or', 'if not found or', TGK),
    ('keys of any bytes', G + 'keys.py', ' and _PLAIN.fullmatch(token) else None', ' else None', TGK),
    ('keys never expire', G + 'access.py', 'return None if key is None or key.expired(time.time()) else key', 'return key', TGK),
    ('scopes are not looked at', G + 'access.py', 'if scope is not None and scope not in key.scopes:', 'if False:', TGK),
    ('open to others without a word', G + 'access.py', 'required = bool(settings.keys) or not is_loopback(host)', 'required = bool(settings.keys)', TGK),
    ('an outage forgets the keys', G + 'audit/stored_keys.py', '            except _LOST as error:\n', '            except _LOST as error:\n                self.ring = KeyRing(())\n', TGK),
    ('tenants of any name', G + 'audit/stored_keys.py', 'usable = [key for key in found if re.fullmatch(NAME, key.tenant)]', 'usable = found', TGK),
    ('a reload keeps the old keys', G + 'app.py', 'before, self.snapshot, self.access = self.snapshot, fresh, access', 'before, self.snapshot = self.snapshot, fresh', TGK),
    ('an endpoint without a guard', G + 'app.py', '"/metrics": guarded(gateway, Scope.METRICS, metrics)', '"/metrics": metrics', TGK),
    ('tokens are never charged', G + 'app.py', '            self.limits.charge(settings.limits.rate, exchange.tenant, tokens)\n', '            pass\n', TGL),
    ('a bucket without a bottom', G + 'limits.py', 'max(self._left - amount, -_DEBT * rate)', 'self._left - amount', TGL),
    ('a bucket without a top', G + 'limits.py', 'min(float(rate), self._left + gained)', 'self._left + gained', TGL),
    ('refused requests are charged', G + 'limits.py', '        if not wait:\n            bucket.take(1', '        if True:\n            bucket.take(1', TGL),
    ('one bucket for all', G + 'limits.py', 'made = self._buckets[tenant, kind] = Bucket(full, now)', 'made = self._buckets.setdefault(("", kind), Bucket(full, now))', TGL),
    ('the second asking is free', G + 'decisions.py', 'return replace(made, first=answer, usage=_both(usage, made.usage))', 'return replace(made, first=answer)', TGL),
    ('classes do not add up', G + 'metrics.py', 'accumulate(classes)', 'classes', TGM),
    ('edges belong above', G + 'tallies.py', 'bisect_left(_EDGES, confidence)', 'int(confidence * LEVELS)', TGM),
    ('messages of others are kept', G + 'logs.py', 'said = str(record.msg).partition("\\n")[0]', 'said = record.getMessage()', TGO),
    ('a slow log is waited for', G + 'logs.py', 'self.queue.put_nowait(record)', 'self.queue.put(record)', TGO),
    ('words of errors in traces', G + 'telemetry.py', '_mark(asking, type(error).__name__)', '_mark(asking, repr(error))', TGE),
    ('requests are read leniently', G + 'requests.py', 'extra="allow", frozen=True, strict=True', 'extra="allow", frozen=True', TGA),
    ('a verdict may be anything', G + 'openapi.py', '    "not": {"required": ["novarag"]},\n', '', TGA),
    ('the document forgets a status', G + 'openapi.py', 'listed = {str(status): one', 'listed = {str(min(status, 400)): one', TGA),
    ('drift is in no metric', G + 'metrics.py', '        yield from self._drift()\n', '', "tests/unit/gateway/test_deploy.py"),
    ('a trace ends at the gateway', G + 'upstream.py', 'headers=trace if compressed else _UNCOMPRESSED | trace,', 'headers=None if compressed else _UNCOMPRESSED,', TGE),
    ("a refusal opens the breaker", "src/novarag/gateway/upstream.py", "if error is None or isinstance(error, Refused):", "if error is None:", "tests/unit/gateway/test_failures.py"),
    ("the end of a stream is passed on at once", "src/novarag/gateway/chat.py", "            elif end is None:\n", "            if end is None or data == b\"[DONE]\":\n", "tests/unit/gateway/test_failures.py"),
    ("a stop is not told", "src/novarag/gateway/serving.py", "            await begun.error(503, \"the gateway is stopping\")\n", "", "tests/unit/gateway/test_failures.py"),
    ("a stop keeps no row", "src/novarag/gateway/serving.py", "        except asyncio.CancelledError:\n            exchange.failed(503)\n", "        except asyncio.CancelledError:\n", "tests/unit/gateway/test_failures.py"),
    ("clients stay with a gateway that stops", "src/novarag/gateway/serving.py", "            if self._last:\n", "            if False:\n", "tests/unit/gateway/test_failures.py"),
    ("a file may change while it is read", "src/novarag/gateway/snapshot.py", " != (before, self.version):", " == ():", "tests/unit/gateway/test_settings.py"),
    ("drift: the stake is laid again for every answer", C + "drift.py", "        worth += _begins(before)\n", "        worth += 1.0\n", TDR),
    ("drift: what the reference leaves open is forgotten", C + "drift.py", "    level = _BOUNDS / (2 * len(watched))", "    level = 0.5", TDR),
    ("drift: bets are laid on what is inside", C + "drift.py", "(beyond if above else -beyond)", "(-beyond if above else beyond)", TDR),
    ("drift: an alarm passes", C + "drift.py", "        if self.since is not None:\n            return\n", "        self.since = None\n", TDR),
    ("drift: a question counts as often as it is asked", C + "drift.py", "        if question in asked:\n            return True\n", "", TDR),
    ("drift: a delay of the mean is called sure", C + "drift.py", "wanted = (_TILTS * height - log(1 - SURE))[:, None]", "wanted = (_TILTS * height * 0.2)[:, None]", TDR),
    ("drift: the reference counts all rows of a question", C + "reference.py", "chosen = order[np.unique(graded.question[order], return_index=True)[1]]", "chosen = order", TDR),
    ("drift: picked rows stand for the log", C + "reference.py", "(rng.random(len(graded)) * most < weights)", "(weights > 0)", TDR),
    ("drift: a reload forgets what was seen", G + "drift.py", "                self._watches[name] = known\n", "                self._watches[name] = (known[0], DriftWatch.of(made.reference))\n", TST),
    ("drift: another calibration inherits the watch", G + "drift.py", "known[0] == respondent.calibration_name", "True", TST),
    ("drift: the second answer is watched", G + "drift.py", "made.first or made.answer", "made.answer", TST),
    ("gain: rows of one question count as many", C + "gain.py", "sums = np.bincount(back, difference - gain)", "sums = difference - gain", TGA),
    ("gain: a gain by chance is called better", C + "gain.py", '"better" if self.low > 0', '"better" if self.gain > 0', TGA),
    ("status: shown to whoever asks", G + "status_page.py", "    return near and request.url.hostname in _NAMES", "    return True", TST),
    ("status: a proxy on this machine is this machine", G + "status_page.py", "if request.client is None or any(name in request.headers for name in _PASSED_ON):", "if request.client is None:", TST),
    ("status: any key opens it", G + "access.py", "return key is not None and scope in key.scopes", "return key is not None", TST),
    ("status: names are markup", G + "status_page.py", "autoescape=True", "autoescape=False", TST),
]  # fmt: skip


def outdated(name, path, old, new, test):
    """Say what of a mutant is gone: its file, the words it changes, or the test that sees it."""
    if not (ROOT / path).is_file():
        return f"{name}: there is no {path}"
    text = (ROOT / path).read_text("utf-8")
    if (times := text.count(old)) != 1:
        return f"{name}: {path} has {old!r} {times} times"
    if path.endswith(".py") and not is_python(text.replace(old, new)):
        return f"{name}: with it {path} is no Python"
    file, _, function = test.partition("::")
    if not (ROOT / file).is_file():
        return f"{name}: there is no {file}"
    if function and f"def {function}(" not in (ROOT / file).read_text("utf-8"):
        return f"{name}: {file} has no {function}"
    return None


def is_python(text):
    """Say whether this can be run at all."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def survives(folder, path, old, new, test):
    """Apply one mutant in a copy of the tree; say whether the test still passes."""
    file = folder / path
    text = file.read_text("utf-8")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=--import-mode=importlib",
        test,
    ]
    source = os.environ | {"PYTHONPATH": str(folder / "src")}  # before what is installed
    done = subprocess.run(
        command, cwd=folder, env=source, capture_output=True, text=True, errors="replace"
    )
    file.write_text(text, encoding="utf-8")
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{test}: pytest could not run\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def run(wanted):
    """Try mutants one after the other; name those that no test caught."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "tree"
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, folder, ignore=lambda at, names: {*ignored(at, names), *built(at)})
        alive = []
        for name, *mutant in wanted:
            lives = survives(folder, *mutant)
            alive += [name] * lives
            print(f"{'SURVIVES' if lives else 'caught':9} {name}", flush=True)
    return alive


def built(folder):
    """Name what was built at the root; `presets/build` is a folder of the source."""
    return {"build", "dist", "site"} if Path(folder) == ROOT else set()


def main():
    wanted_part = sys.argv[1] if len(sys.argv) > 1 else ""
    gone = [problem for mutant in MUTANTS if (problem := outdated(*mutant))]
    if gone:
        sys.exit("\n".join(["mutants that no longer fit:", *gone]))
    if wanted_part == "--check":
        print(f"all {len(MUTANTS)} mutants fit")
        return
    wanted = [mutant for mutant in MUTANTS if wanted_part in mutant[0] or wanted_part in mutant[1]]
    alive = run(wanted)
    print(f"{len(wanted) - len(alive)} of {len(wanted)} mutants caught")
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
