// What the browser knows about itself and about how the page was loaded.
import { flag } from "./context.ts";
import type { Payload } from "./queue.ts";

/** Sizes outside of what the server believes are left out. */
function size(...sides: [width: number, height: number]): string | undefined {
  return sides.every((side) => side > 0 && side < 100000) ? sides.join("x") : undefined;
}

/** The Network Information API, where there is one. */
interface Connection {
  effectiveType?: string;
  rtt?: number;
  downlink?: number;
}

export function surroundings(): Payload {
  const { connection, language } = navigator as { connection?: Connection; language: string };
  return {
    screen_resolution: size(screen.width, screen.height),
    viewport_size: size(innerWidth, innerHeight),
    language,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    connection_type: connection?.effectiveType,
    rtt: connection?.rtt,
    downlink: connection?.downlink,
  };
}

/** Milliseconds; undefined for a step that is not over, or that there was none of. */
const step = (end: number, begin = 0): number | undefined => Math.round(end - begin) || undefined;

/** How long the steps of loading took that are over by now. */
export function loading(): Payload | false | undefined {
  const [entry] = performance.getEntriesByType("navigation");
  return (
    flag("trackPerformance", true) &&
    entry && {
      load_time: step(entry.loadEventEnd),
      dom_ready_time: step(entry.domContentLoadedEventEnd),
      dom_interactive: step(entry.domInteractive),
      ttfb: step(entry.responseStart),
      redirect_time: step(entry.redirectEnd, entry.redirectStart),
      domain_lookup_time: step(entry.domainLookupEnd, entry.domainLookupStart),
    }
  );
}
