(() => {
  "use strict";
  for (const box of document.querySelectorAll(".slider")) {
    const numbers = (name) => box.dataset[name].split(" ").map(Number);
    const kept = numbers("kept"), wrong = numbers("wrong"), all = Number(box.dataset.answers);
    const input = box.querySelector("input"), output = box.querySelector("output");
    const mark = document.getElementById(box.dataset.mark);
    const count = (n) => n.toLocaleString("en-US"), share = (n, of) => (100 * n / of + 1e-9).toFixed(1);
    const show = () => {
      const at = Number(input.value), k = kept[at], w = wrong[at];
      output.textContent = k
        ? `At ${at} % or more: ${count(k)} of ${count(all)} answers (${share(k, all)} %), ${count(w)} of them wrong (${share(w, k)} %).`
        : `At ${at} % or more: no answer.`;
      if (!mark) return;
      const [left, top, width, height, most] = mark.dataset.frame.split(" ").map(Number);
      mark.setAttribute("cx", left + width * k / kept[0]);
      mark.setAttribute("cy", top + height * (1 - (k ? w / k : 0) / most));
      mark.setAttribute("visibility", k ? "visible" : "hidden");
    };
    input.addEventListener("input", show);
    box.hidden = false;
    show();
  }
})();
