// Answers a click on any map: the pixel's spectrum, its fit, and its shares. Zooms all maps
// together. Lets materials be renamed and recoloured. All of it is kept in the page's address.
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const pixels = data.pixels;
  const n = data.spectra.length;
  const find = (selector) => [...document.querySelectorAll(selector)];
  const frames = find(".frame");
  const panel = document.getElementById("pixel");
  const state = { pixel: null, zoom: 1, names: {}, colours: {} };

  // ----- what is stored of every pixel ---------------------------------------------------------
  const layers = {};
  async function unpack() {
    const packed = Uint8Array.from(atob(pixels.bytes), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const size = pixels.rows * pixels.columns;
    let start = 0;
    for (const [name, tops] of pixels.layers) {
      layers[name] = tops.map((top, k) => ({ top, bytes: bytes.subarray(start + k * size, start + (k + 1) * size) }));
      start += tops.length * size;
    }
  }

  try {
    await unpack();
  } catch {
    return; // a browser without DecompressionStream: the page is as useful as on paper
  }

  // A byte is 128 + 127 √|v / top| with the sign of v; 0 stands for "not known".
  function value(layer, place) {
    const code = layer.bytes[place];
    if (code === 0) return null;
    const root = (code - 128) / 127;
    return Math.sign(root) * root * root * layer.top;
  }
  const values = (name, place) => (layers[name] || []).map((layer) => value(layer, place));

  function mix(weights, spectra) {
    const sum = new Array(data.x.length).fill(0);
    spectra.forEach((spectrum, k) => spectrum.forEach((v, band) => { sum[band] += weights[k] * v; }));
    return sum;
  }

  function read(row, column) {
    const place = Math.floor(row / pixels.every) * pixels.columns + Math.floor(column / pixels.every);
    const shares = values("shares", place);
    if (shares.some((share) => share === null)) return null;
    const found = {
      shares,
      errors: values("errors", place),
      residual: values("residual", place)[0],
      brightness: values("brightness", place)[0],
      fit: null,
    };
    const scale = values("scale", place)[0];
    if (scale !== undefined && scale !== null) {
      found.fit = mix(shares.map((share) => scale * share), pixels.spectra);
      found.left = mix(values("residuals", place), pixels.directions);
      found.spectrum = found.fit.map((v, band) => v + found.left[band]);
    }
    return found;
  }

  function angle(a, b) {
    let ab = 0, aa = 0, bb = 0;
    a.forEach((v, k) => { ab += v * b[k]; aa += v * v; bb += b[k] * b[k]; });
    return (Math.acos(Math.min(1, ab / Math.sqrt(aa * bb))) * 180) / Math.PI;
  }

  // ----- how it is written ---------------------------------------------------------------------
  const short = (v, digits = 3) => String(Number(v.toPrecision(digits)));
  const nameOf = (k) => state.names[k] ?? data.names[k];
  const amount = (v) => (pixels.inPercent ? Number((100 * v).toFixed(1)) + " %" : short(v));
  const margin = (v) => (v === null || v === undefined ? "" : " ± " + short(pixels.inPercent ? 100 * v : v, 2));

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, content] of Object.entries(attributes)) made.setAttribute(name, content);
    return made;
  }

  // Lines are broken where bands are missing, as on the chart of the spectra.
  const steps = data.x.slice(1).map((x, k) => Math.abs(x - data.x[k])).sort((a, b) => a - b);
  const gap = 5 * steps[Math.floor(steps.length / 2)];
  function path(curve, low, high) {
    return curve.map((v, k) => {
      const begins = k === 0 || Math.abs(data.x[k] - data.x[k - 1]) > gap;
      return (begins ? "M" : "L") + data.x[k] + " " + (100 - (100 * (v - low)) / (high - low)).toFixed(2);
    }).join("");
  }

  function drawCurves(found) {
    const curves = panel.querySelector(".curves");
    curves.hidden = found.fit === null;
    if (found.fit === null) return;
    const all = [...found.spectrum, ...found.fit];
    const low = Math.min(0, ...all);
    const high = Math.max(...all, low + 1e-12);
    const most = Math.max(...found.left.map(Math.abs), 1e-12);
    panel.querySelector("#spectrum .own").setAttribute("d", path(found.spectrum, low, high));
    panel.querySelector("#spectrum .fit").setAttribute("d", path(found.fit, low, high));
    panel.querySelector("#left .own").setAttribute("d", path(found.left, -most, most));
    document.getElementById("reading").textContent =
      `Top: spectrum (solid; the part in the ${n} + ${pixels.directions.length} stored directions) and fit (dashed), ` +
      `${short(low)} to ${short(high)}. Bottom: residual, at most ±${short(most, 2)}. ` +
      `From ${data.bands[0]} to ${data.bands.at(-1)}.`;
  }

  function readBand(event) {
    const found = state.pixel && read(...state.pixel);
    if (!found || found.fit === null) return;
    const box = event.currentTarget.getBoundingClientRect();
    const percent = (100 * (event.clientX - box.left)) / box.width;
    let band = 0;
    data.x.forEach((x, k) => { if (Math.abs(x - percent) < Math.abs(data.x[band] - percent)) band = k; });
    document.getElementById("reading").textContent =
      `${data.bands[band]}: spectrum ${short(found.spectrum[band])}, fit ${short(found.fit[band])}, residual ${short(found.left[band], 2)}`;
  }

  function nearest(found) {
    if (found.fit === null) return null;
    const angles = data.spectra.map((spectrum) => angle(spectrum.map((v) => v ?? 0), found.spectrum));
    const k = angles.indexOf(Math.min(...angles));
    const [row, column] = pixels.pure[k];
    return `${nameOf(k)}, ${short(angles[k], 2)}° away (row ${row}, column ${column})`;
  }

  function drawPixel() {
    panel.hidden = state.pixel === null;
    find(".cross").forEach((cross) => { cross.hidden = state.pixel === null; });
    if (state.pixel === null) return;
    const [row, column] = state.pixel;
    const found = read(row, column);
    document.getElementById("place").textContent = `Row ${row * pixels.scale}, column ${column * pixels.scale}`;
    const amounts = document.getElementById("amounts");
    const facts = document.getElementById("facts");
    amounts.replaceChildren();
    facts.replaceChildren();
    panel.querySelector(".curves").hidden = found === null;
    const fact = (name, text) => {
      const line = document.createElement("div");
      line.append(element("dt", name), element("dd", text));
      facts.append(line);
    };
    if (found === null) { fact("No data", "This pixel was left out."); return; }
    drawCurves(found);
    const most = Math.max(1, ...found.shares);
    found.shares.forEach((share, k) => {
      const line = document.createElement("tr");
      const bar = element("td", "", { class: "bar", "aria-hidden": "true" });
      bar.append(element("i", "", { style: `width:${Math.max(0, (100 * share) / most)}%;background:var(--c${k})` }));
      line.append(element("th", nameOf(k), { scope: "row" }), bar, element("td", amount(share) + margin(found.errors[k]), { class: "num" }));
      amounts.append(line);
    });
    if (found.brightness !== undefined && found.brightness !== null) fact("Brightness", short(found.brightness));
    fact("Residual", short(100 * found.residual, 2) + " % of the pixel");
    const pure = nearest(found);
    if (pure !== null) fact("Nearest pure pixel", pure);
  }

  // ----- the maps ------------------------------------------------------------------------------
  const images = frames.map((frame) => frame.querySelector("img, svg.image"));
  const height = pixels.height;
  const width = pixels.width;
  frames.forEach((frame) => frame.querySelector(".layer").append(element("div", "", { class: "cross", hidden: "" })));

  function drawMaps() {
    const [row, column] = state.pixel ?? [height / 2, width / 2];
    const x = (column + 0.5) / width;
    const y = (row + 0.5) / height;
    frames.forEach((frame) => {
      const layer = frame.querySelector(".layer");
      const cross = frame.querySelector(".cross");
      cross.style.left = 100 * x + "%";
      cross.style.top = 100 * y + "%";
      // The chosen pixel is in the middle, but no map leaves its frame.
      const inside = (place) => Math.min(0, Math.max(1 - state.zoom, 0.5 - place * state.zoom));
      layer.style.setProperty("--zoom", state.zoom);
      layer.style.transform = `translate(${100 * inside(x)}%, ${100 * inside(y)}%) scale(${state.zoom})`;
    });
  }

  function choose(row, column) {
    state.pixel = [Math.min(height - 1, Math.max(0, row)), Math.min(width - 1, Math.max(0, column))];
    draw();
  }

  function zoom(direction) {
    state.zoom = Math.min(32, Math.max(1, state.zoom * 2 ** direction));
    draw();
  }

  frames.forEach((frame, k) => {
    frame.addEventListener("click", (event) => {
      const box = images[k].getBoundingClientRect();
      choose(
        Math.floor((height * (event.clientY - box.top)) / box.height),
        Math.floor((width * (event.clientX - box.left)) / box.width),
      );
    });
    frame.addEventListener("dblclick", () => zoom(1));
    frame.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const [row, column] = state.pixel ?? [Math.floor(height / 2), Math.floor(width / 2)];
      if (move) choose(row + pixels.every * move[0], column + pixels.every * move[1]);
      else if (event.key === "Enter") choose(row, column);
      else if (event.key === "+" || event.key === "=") zoom(1);
      else if (event.key === "-") zoom(-1);
      else return;
      event.preventDefault();
    });
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  document.getElementById("close").addEventListener("click", close);
  find("[data-zoom]").forEach((button) => button.addEventListener("click", () => zoom(Number(button.dataset.zoom))));
  find(".curves svg").forEach((svg) => svg.addEventListener("pointermove", readBand));

  function close() {
    state.pixel = null;
    state.zoom = 1;
    draw();
  }

  // ----- names and colours ---------------------------------------------------------------------
  const edit = document.getElementById("edit");
  const picture = document.querySelector("#dominant img");
  const original = picture.src;
  edit.hidden = false;

  function drawNames() {
    for (let k = 0; k < n; k++) {
      find(`[data-name="${k}"]`).forEach((place) => { place.textContent = nameOf(k); });
      edit.querySelector(`[type="text"][data-k="${k}"]`).value = nameOf(k);
      const colour = state.colours[k] ?? data.colours[k];
      document.documentElement.style.setProperty(`--c${k}`, colour);
      edit.querySelector(`[type="color"][data-k="${k}"]`).value = colour.toLowerCase();
    }
    recolour();
  }

  // The map of classes is an image of exactly the old colours.
  async function recolour() {
    if (Object.keys(state.colours).length === 0) { picture.src = original; return; }
    const source = new Image();
    source.src = original;
    await source.decode();
    const canvas = element("canvas", "", { width: source.naturalWidth, height: source.naturalHeight });
    const context = canvas.getContext("2d");
    context.drawImage(source, 0, 0);
    const shown = context.getImageData(0, 0, canvas.width, canvas.height);
    const number = (colour) => parseInt(colour.slice(1), 16);
    const changed = new Map(Object.entries(state.colours).map(([k, colour]) => [number(data.colours[k]), number(colour)]));
    for (let at = 0; at < shown.data.length; at += 4) {
      const colour = changed.get((shown.data[at] << 16) | (shown.data[at + 1] << 8) | shown.data[at + 2]);
      if (colour === undefined) continue;
      shown.data[at] = colour >> 16;
      shown.data[at + 1] = (colour >> 8) & 255;
      shown.data[at + 2] = colour & 255;
    }
    context.putImageData(shown, 0, 0);
    picture.src = canvas.toDataURL();
  }

  edit.addEventListener("change", (event) => {
    const k = event.target.dataset.k;
    if (event.target.type === "color") state.colours[k] = event.target.value;
    else if (event.target.value.trim() === "") delete state.names[k];
    else state.names[k] = event.target.value.trim();
    draw(true);
  });
  document.getElementById("restore").addEventListener("click", () => {
    state.names = {};
    state.colours = {};
    draw(true);
  });

  // ----- the address of the page ---------------------------------------------------------------
  function writeAddress() {
    const words = new URLSearchParams();
    if (state.pixel) words.set("pixel", state.pixel.map((place) => place * pixels.scale).join(","));
    if (state.zoom > 1) words.set("zoom", state.zoom);
    for (const [k, name] of Object.entries(state.names)) words.set("name" + k, name);
    for (const [k, colour] of Object.entries(state.colours)) words.set("colour" + k, colour.slice(1));
    // A page inside another one has no address of its own.
    try { history.replaceState(null, "", "#" + words); } catch { /* nothing is kept */ }
  }

  function readAddress() {
    for (const [word, text] of new URLSearchParams(location.hash.slice(1))) {
      const k = Number(word.replace(/^\D+/, ""));
      const places = text.split(",").map((place) => Math.floor(Number(place) / pixels.scale));
      if (word === "pixel" && places.length === 2 && places[0] >= 0 && places[0] < height && places[1] >= 0 && places[1] < width) state.pixel = places;
      else if (word === "zoom" && Number(text) >= 1) state.zoom = Math.min(32, Number(text));
      else if (/^name\d+$/.test(word) && k < n) state.names[k] = text.slice(0, 80);
      else if (/^colour\d+$/.test(word) && k < n && /^[0-9a-f]{6}$/i.test(text)) state.colours[k] = "#" + text;
    }
  }

  // A link to a section must not replace what the address keeps.
  find('nav a, a.skip').forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    const section = document.querySelector(link.getAttribute("href"));
    section.scrollIntoView();
    section.querySelector("h2").setAttribute("tabindex", "-1");
    section.querySelector("h2").focus({ preventScroll: true });
  }));

  function draw(namesChanged = false) {
    if (namesChanged) drawNames();
    drawMaps();
    drawPixel();
    writeAddress();
  }

  readAddress();
  drawMaps();
  drawPixel();
  if (Object.keys(state.names).length + Object.keys(state.colours).length > 0) drawNames();
})();
