// A line of the counts of the last seconds, and the same in words.

import { put, s } from "../lib/dom.js";
import { number, t } from "../lib/text.js";

const [WIDTH, HEIGHT] = [120, 28];

export class Sparkline {
  /**
   * @param {HTMLElement} root with an svg, and elements marked `now` (the last value) and `twin` (the same in words);
   *   `data-kind` names the series
   */
  constructor(root, rates) {
    this.rates = rates;
    this.kind = root.dataset.kind;
    this.now = root.querySelector('[data-part="now"]');
    this.twin = root.querySelector('[data-part="twin"]');
    const svg = root.querySelector("svg");
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.line = s("path");
    svg.append(this.line);
  }

  draw(now) {
    const values = this.rates.series(this.kind, now);
    const known = values.filter((value) => value !== null);
    const most = Math.max(1, ...known);
    const y = (value) => HEIGHT - 3 - (value / most) * (HEIGHT - 6);
    const x = (index) => (index / (values.length - 1)) * (WIDTH - 4) + 1;
    // The line has a gap where a second is not known.
    const points = values.map((value, index) => {
      if (value === null) return "";
      const pen = (values[index - 1] ?? null) === null ? "M" : "L";
      return `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    this.line.setAttribute("d", points.join(""));
    const last = values.at(-1);
    put(this.now, last === null ? "–" : number(last));
    const mean = known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : 0;
    const figures = {
      most: number(Math.max(0, ...known)),
      mean: number(mean, 1),
      seconds: number(known.length),
    };
    put(this.twin, t(`bd_spark_${this.kind}`, figures));
  }
}
