"use strict";
// Reads the spectra under the pointer or the keyboard cursor, and hides or shows materials.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plot = document.getElementById("plot");
  const cursor = plot.querySelector(".cursor");
  const readout = document.getElementById("readout");
  const lines = [...plot.querySelectorAll(".line")];
  const bands = [...plot.querySelectorAll(".spread")];
  const buttons = [...document.querySelectorAll(".legend button[data-k]")];
  const dots = data.spectra.map((_, k) => {
    const dot = document.createElement("div");
    dot.className = "dot";
    dot.hidden = true;
    dot.style.background = `var(--c${k})`;
    plot.append(dot);
    return dot;
  });
  let band = null;

  const isShown = (k) => buttons[k].getAttribute("aria-pressed") === "true";

  function inWords(value, k) {
    const spread = data.spread === null ? null : data.spread[k][band];
    if (spread === null) return String(Number(value.toPrecision(4)));
    return Number(value.toPrecision(3)) + " ± " + Number(spread.toPrecision(2));
  }

  function draw() {
    cursor.hidden = band === null;
    readout.textContent = band === null ? "No band chosen" : data.bands[band];
    plot.setAttribute("aria-valuenow", band === null ? 1 : band + 1);
    if (band !== null) cursor.style.left = data.x[band] + "%";
    const spoken = [];
    data.spectra.forEach((spectrum, k) => {
      const value = band === null ? null : spectrum[band];
      const visible = value !== null && isShown(k);
      lines[k].classList.toggle("off", !isShown(k));
      if (bands[k]) bands[k].classList.toggle("off", !isShown(k));
      dots[k].hidden = !visible;
      buttons[k].querySelector(".value").textContent = visible ? inWords(value, k) : "";
      if (!visible) return;
      dots[k].style.left = data.x[band] + "%";
      dots[k].style.bottom = (100 * (value - data.low)) / (data.high - data.low) + "%";
      spoken.push(buttons[k].querySelector(".name").textContent + " " + inWords(value, k));
    });
    plot.setAttribute("aria-valuetext", band === null ? "no band chosen" : [data.bands[band], ...spoken].join(", "));
  }

  function nearest(percent) {
    let best = 0;
    data.x.forEach((x, j) => { if (Math.abs(x - percent) < Math.abs(data.x[best] - percent)) best = j; });
    return best;
  }

  function readAt(event) {
    const box = plot.getBoundingClientRect();
    band = nearest((100 * (event.clientX - box.left)) / box.width);
    draw();
  }
  plot.addEventListener("pointermove", readAt);
  plot.addEventListener("pointerdown", readAt);
  plot.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && document.activeElement !== plot) { band = null; draw(); }
  });

  plot.addEventListener("keydown", (event) => {
    const last = data.x.length - 1;
    const from = band === null ? -1 : band;
    const goal = {
      ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1,
      PageUp: from + 10, PageDown: from - 10, Home: 0, End: last,
    }[event.key];
    if (event.key === "Escape") band = null;
    else if (goal === undefined) return;
    else band = Math.min(Math.max(goal, 0), last);
    event.preventDefault();
    draw();
  });

  buttons.forEach((button, k) => {
    button.addEventListener("click", () => { button.setAttribute("aria-pressed", String(!isShown(k))); draw(); });
    const emphasise = (on) => () => {
      plot.classList.toggle("faded", on && isShown(k));
      lines[k].classList.toggle("bold", on);
      if (bands[k]) bands[k].classList.toggle("bold", on);
    };
    for (const type of ["pointerenter", "focus"]) button.addEventListener(type, emphasise(true));
    for (const type of ["pointerleave", "blur"]) button.addEventListener(type, emphasise(false));
  });
  document.getElementById("all").addEventListener("click", () => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", "true"));
    draw();
  });
})();
