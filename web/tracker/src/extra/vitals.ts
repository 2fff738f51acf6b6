// Web vitals, each once for a page.
import { onCLS, onFCP, onINP, onLCP, onTTFB, type Metric } from "web-vitals";
import type { ExtraScript } from "../extra.ts";
import { measureFPS } from "./fps.ts";

export function startVitals(core: ExtraScript): void {
  const report = (metricName: string, metricValue: number): void => {
    core.report("vital", { metricName, metricValue });
  };
  // A metric that changes after it was told, as when somebody comes back to the page,
  // is not told again: one page load has one value, and it stays comparable.
  const told = new Set<string>();
  const tell = ({ id, name, value }: Metric): void => {
    if (told.has(id)) return;
    told.add(id);
    report(name, Math.round(value * 10000) / 10000);
  };
  for (const on of [onFCP, onLCP, onCLS, onINP, onTTFB]) on(tell);
  measureFPS((fps) => {
    report("FPS", fps);
  });
}
