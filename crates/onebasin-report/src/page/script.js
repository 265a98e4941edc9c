// Hides and shows series, shows the numbers of figures, and links to files; the page is complete without it.
"use strict";

(() => {
  const items = JSON.parse(document.getElementById("data").textContent);

  // Returns the rows of comma-separated values, each a list of cells, without the titles.
  function rows(csv) {
    const found = [[]];
    for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n)/g)) {
      found.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
      if (end === "\n") found.push([]);
    }
    return found.slice(1, -1);
  }

  // Returns a number with few digits.
  const number = (text, digits = 5) => String(Number(Number(text).toPrecision(digits))).replace("-", "−");

  // Returns the position of a number, or of the name of a kind, on an axis, in user units of the SVG; NaN or infinite if it
  // has none.
  function position(axis, text, shift = 0) {
    const at = axis.kinds.length ? axis.kinds.indexOf(text) + shift : text;
    const [low, high, value] = [...axis.range, at].map((it) => (axis.log ? Math.log10(it) : Number(it)));
    return axis.at[0] + ((value - low) / (high - low)) * (axis.at[1] - axis.at[0]);
  }

  // Returns all visible points of a figure, with their tooltips.
  function pointsOf(item) {
    const cells = rows(item.csv);
    let first = 0;
    const points = item.series.flatMap((series, index) =>
      cells.slice(first, (first += series.points)).map((line) => {
        const [x, y, value] = item.value === null ? line.slice(2) : line;
        const told = (axis, text) => `${axis.label}: ${axis.kinds.length ? text : number(text)}`;
        const say = [series.label, told(item.x, x), told(item.y, y)];
        if (item.value !== null) say.push(`${item.value}: ${number(value)}`);
        else if (value !== "") say[2] += ` ± ${number(value, 3)}`;
        const at = { x: position(item.x, x, series.shift), y: position(item.y, y) };
        return { series: index, ...at, say: say.filter(Boolean).join("\n") };
      }),
    );
    return points.filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  }

  // Makes buttons hide and show the series of a name or of a group. Returns a function that tells whether a series is shown.
  function toggles(figure) {
    const pressed = (button) => button.getAttribute("aria-pressed") === "true";
    const buttons = [...figure.querySelectorAll(".legend button")];
    const own = (button) => (button.dataset.name ?? button.dataset.group).split(" ").map(Number);
    const shown = (index) => buttons.every((button) => pressed(button) || !own(button).includes(index));
    for (const button of buttons) {
      button.disabled = false;
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(!pressed(button)));
        for (const line of figure.querySelectorAll("[data-series]")) {
          line.classList.toggle("hidden", !shown(Number(line.dataset.series)));
        }
        for (const other of buttons) other.classList.toggle("off", !own(other).some(shown));
      });
    }
    return shown;
  }

  // Shows the numbers of the point nearest to the pointer, or of the point chosen with the arrow keys.
  function reader(figure, item, shown) {
    const plot = figure.querySelector(".plot");
    const svg = plot.querySelector("svg");
    const points = pointsOf(item);
    const tip = plot.appendChild(document.createElement("div"));
    const ring = document.createElementNS(svg.namespaceURI, "circle");
    let current = -1;
    tip.className = "tip";
    tip.setAttribute("role", "status");
    ring.setAttribute("class", "ring");
    ring.setAttribute("r", "5");
    plot.tabIndex = 0;

    function show(index) {
      current = index;
      tip.hidden = index < 0;
      if (tip.hidden) return ring.remove();
      const { x, y, say } = points[index];
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      svg.append(ring);
      tip.textContent = say;
      // The tooltip is beside the point, on the side with more space, and inside the plot.
      const zoom = svg.clientWidth / svg.viewBox.baseVal.width;
      const left = x * zoom + (x > svg.viewBox.baseVal.width / 2 ? -tip.offsetWidth - 12 : 12);
      tip.style.left = `${Math.max(0, Math.min(left, plot.clientWidth - tip.offsetWidth))}px`;
      tip.style.top = `${Math.max(0, y * zoom - tip.offsetHeight - 8)}px`;
    }

    function follow(event) {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const inside = (axis, value) => value >= Math.min(...axis.at) - 8 && value <= Math.max(...axis.at) + 8;
      let nearest = -1;
      let least = Infinity;
      if (inside(item.x, at.x) && inside(item.y, at.y)) {
        points.forEach((point, index) => {
          const distance = Math.hypot(point.x - at.x, point.y - at.y);
          if (distance < least && shown(point.series)) [nearest, least] = [index, distance];
        });
      }
      show(nearest);
    }

    function step(event) {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") show(-1);
      if (!by) return;
      event.preventDefault();
      let next = current + by;
      while (points[next] && !shown(points[next].series)) next += by;
      if (points[next]) show(next);
    }

    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", () => show(-1));
    plot.addEventListener("keydown", step);
    plot.addEventListener("blur", () => show(-1));
    show(-1);
  }

  // Returns the figure as an SVG file, with title, legend and all series.
  function drawing(svg) {
    const whole = svg.cloneNode(true);
    const size = svg.dataset.whole.split(" ");
    whole.setAttribute("viewBox", svg.dataset.whole);
    whole.setAttribute("width", size[2]);
    whole.setAttribute("height", size[3]);
    whole.removeAttribute("data-whole");
    return new XMLSerializer().serializeToString(whole);
  }

  function offer(element, files) {
    const paragraph = element.appendChild(document.createElement("p"));
    paragraph.className = "files";
    for (const { name, type, text } of files) {
      const link = paragraph.appendChild(document.createElement("a"));
      link.textContent = name;
      link.download = name;
      link.href = `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
    }
  }

  for (const element of document.querySelectorAll("[data-item]")) {
    const item = items[element.dataset.item];
    const files = [{ name: `${item.file}.csv`, type: "text/csv", text: item.csv }];
    const svg = element.querySelector(".plot > svg");
    if (svg) {
      files.unshift({ name: `${item.file}.svg`, type: "image/svg+xml", text: drawing(svg) });
      reader(element, item, toggles(element));
    }
    offer(element, files);
  }
  document.documentElement.classList.add("scripted");
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((it) => (it.open = true)));
})();
