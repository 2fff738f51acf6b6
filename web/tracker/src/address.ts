// Addresses of pages as they are sent.
import { flag, list } from "./context.ts";
import { maxText } from "./event.ts";
import { mask, matches } from "./pattern.ts";
import { handoverParameters } from "./visitor.ts";

/** Takes ids of visitors out of an address. */
export function stripIds(url: URL): URL {
  for (const name of handoverParameters) {
    // A query is written anew when it is changed, so only then.
    if (url.searchParams.has(name)) url.searchParams.delete(name);
  }
  return url;
}

/**
 * The address without what must not be stored: ids of visitors, what the owner masks
 * and, unless it names the page, the part behind "#". Of a page of which nothing is
 * sent only the site is left.
 */
export function clean(address: string): string {
  const url = stripIds(new URL(address));
  if (!flag("trackHashChanges")) url.hash = "";
  if (url.host === location.host) {
    if (matches(list("skipPatterns"), url.pathname)) return url.origin + "/";
    url.pathname = mask(list("maskPatterns"), url.pathname);
  }
  if (url.href.length > maxText) url.search = url.hash = "";
  return url.href.slice(0, maxText);
}

/** What tells one page of a site from the next. */
export function route(withQuery: boolean): string {
  return location.pathname + (withQuery ? location.search : "") + (flag("trackHashChanges") ? location.hash : "");
}
