"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const sheet = document.body.dataset.sheet, place = "novarag-study-" + sheet;
  const sections = all("section.entry"), pages = all("#pages button"), rater = one("rater");
  const sets = (within) => all("fieldset", within);
  const chosen = (set) => set.querySelector("input:checked");
  const writing = (target) => target.matches("input:not([type=radio])");
  let at = 0;

  const state = () => ({
    format: "novarag study ratings 1",
    sheet,
    rater: rater.value.trim(),
    ratings: all("input[type=radio]:checked").map((radio) => {
      const [entry, reply, criterion] = radio.name.split(".");
      return { entry: Number(entry), reply, criterion, score: Number(radio.value) };
    }),
  });

  const say = (text) => { one("says").textContent = text; };

  const tell = () => {
    const bar = one("done");
    bar.value = all("input[type=radio]:checked").length;
    one("count").textContent = bar.value + " of " + bar.max;
    sections.forEach((section, i) => pages[i].classList.toggle("full", sets(section).every(chosen)));
  };

  const keep = () => {
    tell();
    try {
      localStorage.setItem(place, JSON.stringify({ ...state(), at }));
    } catch {
      say("This browser cannot keep ratings: save a file before you close the page.");
    }
  };

  const fill = (saved) => {
    const wanted = new Map(saved.ratings.map((r) => [[r.entry, r.reply, r.criterion].join("."), String(r.score)]));
    all("input[type=radio]").forEach((radio) => { radio.checked = wanted.get(radio.name) === radio.value; });
    rater.value = String(saved.rater || "");
  };

  const show = (next) => {
    at = Math.min(Math.max(next, 0), sections.length - 1);
    sections.forEach((section, i) => { section.hidden = i !== at; });
    pages.forEach((page, i) => i === at ? page.setAttribute("aria-current", "page") : page.removeAttribute("aria-current"));
  };

  const turn = (next) => {
    show(next);
    keep();
    scrollTo(0, 0);
    sections[at].querySelector("h2").focus();
  };

  const rate = (digit, radio) => {
    const within = sets(sections[at]);
    const alone = within.length === 1; // one question a page: a digit answers it and turns
    const set = radio ? radio.closest("fieldset") : within.find((s) => alone || !chosen(s));
    if (!radio && !alone) return set && set.querySelector("input").focus();
    const wanted = all("input", set)[digit - 1];
    if (!wanted) return undefined;
    wanted.checked = true;
    keep();
    if (alone && at < sections.length - 1) return turn(at + 1);
    const next = within[within.indexOf(set) + 1];
    return next ? (chosen(next) || next.querySelector("input")).focus() : sections[at].querySelector(".on").focus();
  };

  document.addEventListener("change", (event) => { if (event.target.type !== "file") keep(); });
  rater.addEventListener("input", keep);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || writing(event.target)) return;
    if (/^[1-9]$/.test(event.key)) rate(Number(event.key), event.target.matches("input[type=radio]") ? event.target : null);
    else if (event.key === "n" || event.key === "N") turn(at + 1);
    else if (event.key === "p" || event.key === "P") turn(at - 1);
  });
  pages.forEach((page, i) => page.addEventListener("click", () => turn(i)));
  sections.forEach((section, i) => {
    const back = section.querySelector(".back"), on = section.querySelector(".on");
    back.disabled = i === 0;
    back.addEventListener("click", () => turn(i - 1));
    if (i < sections.length - 1) on.addEventListener("click", () => turn(i + 1));
    else { on.textContent = "Save file"; on.addEventListener("click", () => one("save").click()); }
  });

  one("save").addEventListener("click", () => {
    if (!rater.value.trim()) {
      say("Write your name first: it tells your ratings from others'.");
      rater.focus();
      return;
    }
    const saved = state(), link = document.createElement("a");
    const name = saved.rater.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 40);
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1)], { type: "application/json" }));
    link.download = "ratings-" + sheet + "-" + name + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const left = one("done").max - saved.ratings.length;
    say("Saved " + link.download + (left ? "; " + left + " ratings are still open." : ". Everything is rated: thank you."));
  });

  one("load").addEventListener("change", async (event) => {
    try {
      const saved = JSON.parse(await event.target.files[0].text());
      if (saved.sheet !== sheet) throw new Error("another sheet");
      fill(saved);
      turn(at);
      say("Ratings are filled in from the file.");
    } catch {
      say("That is not a file saved from this sheet; nothing was changed.");
    }
    event.target.value = "";
  });

  let kept = null;
  try { kept = JSON.parse(localStorage.getItem(place)); fill(kept); } catch { kept = null; }
  show(Number(kept && kept.at) || 0);
  one("how").open = !kept;
  tell();
})();
