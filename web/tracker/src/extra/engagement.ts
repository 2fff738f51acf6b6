// How a page is used: how often, never what. No text, no key and no value of a field
// is read.
import type { ExtraScript } from "../extra.ts";
import { listen } from "../guard.ts";
import type { Payload } from "../queue.ts";

/** Clicks on one spot in quick succession. */
const rage = { clicks: 3, within: 1000, pixels: 30 };

/** Events of the document and the counters they add to. */
const counted: Record<string, string> = {
  click: "clickCount",
  keydown: "keyCount",
  scroll: "scrollCount",
  copy: "copyCount",
  submit: "formSubmitCount",
};

interface Click {
  t: number;
  x: number;
  y: number;
}

let counts: Record<string, number> = {};
let rageTarget: string | undefined;
let recent: Click[] = [];
let since = 0;
let toFirst: number | undefined;

function reset(): void {
  counts = {};
  recent = [];
  rageTarget = toFirst = undefined;
  since = Date.now();
}

function count(name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function onClick(e: MouseEvent): void {
  const now = Date.now();
  const near = ({ t, x, y }: Click): boolean =>
    now - t < rage.within && Math.abs(x - e.clientX) < rage.pixels && Math.abs(y - e.clientY) < rage.pixels;
  recent = [...recent.filter(near), { t: now, x: e.clientX, y: e.clientY }];
  if (recent.length !== rage.clicks) return;
  count("rageClickCount");
  const target = e.target as Partial<Element> | null;
  rageTarget = ((target?.tagName ?? "").toLowerCase() + (target?.id ? "#" + target.id : "")).slice(0, 64);
}

/** The record of a stretch of time on a page, from the exit that ends it. */
function record(how: string, exit: Payload): Payload {
  const { timestamp, path, sessionId, page_count, time_on_page, scroll_depth, interaction_count } = exit;
  return {
    timestamp,
    path,
    sessionId,
    pageIndex: page_count,
    exitType: how,
    timeOnPage: time_on_page,
    activeTime: (exit.properties as Payload).active_time,
    maxScrollDepth: scroll_depth,
    interactionCount: interaction_count,
    timeToFirstInteraction: toFirst,
    rageClickTarget: rageTarget,
    ...counts,
  };
}

export function startEngagement(core: ExtraScript): void {
  reset();
  for (const [type, name] of Object.entries(counted)) {
    listen(document, type, (e) => {
      if (type !== "scroll") toFirst ??= Date.now() - since;
      count(name);
      if (type === "click") onClick(e as MouseEvent);
    });
  }
  listen(window, "error unhandledrejection", () => {
    count("errorCount");
  });
  core.onExit((how, exit) => {
    if (exit) core.report("engagement", record(how, exit), undefined, { id: String(exit.sessionId), start: 0 });
    reset();
  });
}
