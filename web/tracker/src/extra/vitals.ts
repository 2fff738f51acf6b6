// Web vitals, each once for a page.
import { onCLS, onFCP, onINP, onLCP, onTTFB, type Metric } from "web-vitals";
import type { ExtraScript } from "../extra.ts";
import { measureFPS } from "./fps.ts";

export function startVitals(core: ExtraScript): void {
  const report = (metricName: string, metricValue: number): void => {
    // They are those of the document, whatever page it shows by then.
    core.report("vitals", { metricName, metricValue }, core.loadedPage);
  };
  // A metric that changes after it was told, or begins anew, with another id, when the
  // page comes back from the browser's cache, is not told again: one page load has one
  // value, and it stays comparable.
  const told = new Set<string>();
  const tell = ({ name, value }: Metric): void => {
    if (told.has(name)) return;
    told.add(name);
    report(name, Math.round(value * 10000) / 10000);
  };
  for (const on of [onFCP, onLCP, onCLS, onINP, onTTFB]) on(tell);
  measureFPS((fps) => {
    report("FPS", fps);
  });
}
