// What not every page needs is in a second file, which is loaded when the page is at
// rest and only where it is asked for.
import { flag, tag } from "./context.ts";
import { collect, current, type Page } from "./event.ts";
import { guard, listen } from "./guard.ts";
import { setOnExit, type OnExit } from "./page.ts";
import type { ReadFlag } from "./options.ts";

declare const EXTRA_FILE: string;
declare const EXTRA_INTEGRITY: string;

/** What the second file finds at its script element. */
export interface ExtraScript extends HTMLScriptElement {
  flag: ReadFlag;
  report: typeof collect;
  /** The page that the document was loaded with. */
  loadedPage: Page;
  onExit: (fn: OnExit) => void;
}

function load(): void {
  const script = Object.assign(document.createElement("script"), {
    flag,
    report: collect,
    loadedPage: current,
    onExit: setOnExit,
    src: new URL(EXTRA_FILE, tag.src).href,
    integrity: EXTRA_INTEGRITY,
    crossOrigin: "anonymous",
    nonce: tag.nonce,
  });
  document.head.append(script);
}

export function startExtra(): void {
  if (!flag("trackWebVitals") && !flag("trackEngagement")) return;
  if (document.readyState === "complete") load();
  else listen(window, "load", () => setTimeout(guard(load), 0));
}
