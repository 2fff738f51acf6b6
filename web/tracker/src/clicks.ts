// Clicks that mean something: on links that lead to another site, and on elements that
// the owner marked with data-track.
import { stripIds } from "./address.ts";
import { flag } from "./context.ts";
import { custom } from "./custom.ts";
import { collect, maxText, properties } from "./event.ts";
import { listen } from "./guard.ts";

/** The innermost element of a click, also within shadow trees, that fits a selector. */
function find(e: Event, selector: string): Element | undefined {
  return e.composedPath().find((node): node is Element => node instanceof Element && node.matches(selector));
}

/** Sites are the same with and without "www.". */
const site = (host: string): string => host.replace(/^www\./, "");

function onLink(e: Event): void {
  const link = find(e, "a[href],area[href]");
  // Of links in SVG only the attribute is a text.
  const href = link && stripIds(new URL(link.getAttribute("href") ?? "", document.baseURI));
  if (!href || !href.protocol.startsWith("http") || site(href.hostname) === site(location.hostname)) return;
  collect("", {
    type: "outgoing_link",
    href: href.href.slice(0, maxText),
    text: link.textContent.trim().slice(0, maxText),
    properties: properties(),
  });
}

function onMarked(e: Event): void {
  const marked = find(e, "[data-track]") as HTMLElement | undefined;
  if (!marked) return;
  const { track, ...others } = marked.dataset;
  custom(track, others);
}

export function startClicks(): void {
  if (flag("trackAttributes")) listen(document, "click", onMarked);
  if (!flag("trackOutgoingLinks")) return;
  // A key on a link is a click too; the middle button is not, and the others open menus.
  listen<MouseEvent>(document, "click auxclick", (e) => {
    if (e.button < 2) onLink(e);
  });
}
