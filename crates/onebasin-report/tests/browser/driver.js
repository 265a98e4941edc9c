// Runs after all other scripts: uses the page as a reader does, and reports to the frame around it.
"use strict";
{
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const texts = (elements) => elements.map((element) => element.textContent);
  const seen = (element) => element.getBoundingClientRect().width > 0;

  // Returns the tooltip of the point at (x, y), in user units of the SVG.
  function hover(figure, x, y) {
    const svg = figure.querySelector(".plot > svg");
    const { x: clientX, y: clientY } = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    const tip = figure.querySelector(".tip");
    const box = tip.getBoundingClientRect();
    if (box.left < 0 || box.right > innerWidth) problems.push(`the tooltip leaves the page: ${box.left} to ${box.right}`);
    const said = tip.hidden ? null : tip.textContent;
    svg.dispatchEvent(new PointerEvent("pointerleave", { bubbles: true }));
    figure.querySelector(".plot").dispatchEvent(new PointerEvent("pointerleave"));
    if (!tip.hidden) problems.push("the tooltip stays");
    return said;
  }

  // Presses a button twice. Returns the indices of the series that it hid, and whether it showed them again.
  function press(figure, button) {
    const lines = all("[data-series]", figure).sort((a, b) => a.dataset.series - b.dataset.series);
    const shown = () => lines.filter(seen).map((line) => Number(line.dataset.series));
    const before = shown();
    button.click();
    const between = shown();
    const pressed = button.getAttribute("aria-pressed");
    button.click();
    const after = shown();
    return {
      gone: before.filter((index) => !between.includes(index)),
      back: String(before) === String(after) && before.length === lines.length,
      pressed: [pressed, button.getAttribute("aria-pressed")],
      label: button.textContent,
    };
  }

  // Reads some points of each series while all others are hidden.
  function readSeries(figure) {
    const buttons = all(".legend button", figure);
    return all("[data-series]", figure).flatMap((group) => {
      const series = Number(group.dataset.series);
      const own = (button) => (button.dataset.name ?? button.dataset.group).split(" ").map(Number).includes(series);
      const others = buttons.filter((button) => !own(button));
      others.forEach((other) => other.click());
      const line = group.querySelector(".line");
      const places = line.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ").map(Number));
      const some = [0, Math.floor(places.length / 2), places.length - 1];
      const read = some.map((point) => ({ series, point, of: places.length, said: hover(figure, ...places[point]) }));
      others.forEach((other) => other.click());
      return read;
    });
  }

  // Returns the tooltip of the first point, which the arrow keys reach first.
  function step(figure) {
    const plot = figure.querySelector(".plot");
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    const said = figure.querySelector(".tip").textContent;
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    if (!figure.querySelector(".tip").hidden) problems.push("the tooltip stays after Escape");
    return said;
  }

  const figures = all("figure").map((figure) => ({
    id: figure.id,
    names: all("[data-name]", figure).map((button) => press(figure, button)),
    groups: all("[data-group]", figure).map((button) => press(figure, button)),
    series: readSeries(figure),
    first: step(figure),
    annotations: all(".plot circle:not(.ring)", figure).map((dot) =>
      hover(figure, Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))),
    ),
    files: all(".files a", figure).map((link) => ({
      name: link.download,
      text: decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)),
    })),
  }));
  const report = {
    cards: all(".cards > div").map((card) => texts(all("dt, dd", card))),
    finding: texts(all(".finding")),
    // Tables that are wider than the page, and whether a shadow tells so.
    scrolling: all(".scroll").map((it) => [it.scrollWidth > it.clientWidth, getComputedStyle(it).backgroundImage !== "none"]),
    maps: all(".maps figure").map((it) => [it.getBoundingClientRect().left, it.getBoundingClientRect().top]),
    tables: all("table").map((table) => all("tr", table).map((row) => texts(all("th, td", row)))),
    figures,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    colours: [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color],
    problems,
  };
  parent.document.getElementById(frameElement.dataset.report).textContent = JSON.stringify(report);
}
