// One request and its answer.

export interface Answer {
  /** Its status; 0 where there is no answer. */
  status: number;
  /** For how many milliseconds the server wants to be left alone, where it says so. */
  wait?: number | undefined;
}

/**
 * How many bytes may be under way that are to outlive the page; browsers refuse more
 * than 64 KiB of all requests together.
 */
export const keepaliveBytes = 60000;

/**
 * After how many milliseconds without an answer a request is ended: what it carried is
 * sent again then, as after one that failed.
 */
const patience = 30000;

export function sizeOf(text: string): number {
  return new Blob([text]).size;
}

/**
 * Posts a body. It is sent as plain text, so that the browser need not ask the server
 * first whether it may; and by fetch even while the page is left, because a beacon
 * tells nobody whether it arrived, and does not name its origin on pages with a strict
 * referrer policy. With keepalive it outlives the page.
 */
export async function post(url: string, body: string, keepalive: boolean): Promise<Answer> {
  const ending = new AbortController();
  setTimeout(() => {
    ending.abort();
  }, patience);
  try {
    const { status, headers } = await fetch(url, {
      method: "POST",
      body,
      keepalive,
      credentials: "omit",
      signal: ending.signal,
    });
    return { status, wait: parseRetryAfter(headers.get("Retry-After")) };
  } catch {
    return { status: 0 };
  }
}

/** Milliseconds of a Retry-After in seconds, at most an hour; undefined for a date, which no ingestion host sends. */
export function parseRetryAfter(text: string | null): number | undefined {
  return Math.min(Number(text) * 1000, 3600000) || undefined;
}

/**
 * Milliseconds before the n-th attempt after the first: doubled with each, up to a
 * minute, which it is beyond the `quick` ones; less up to half of it by chance, so
 * that the pages that failed together do not come back together.
 */
export function backoff(initial: number, n: number, quick: number): number {
  return Math.min(n > quick ? 60000 : initial * 2 ** (n - 1), 60000) * (1 - Math.random() / 2);
}
