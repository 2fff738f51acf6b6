// Patterns of paths, as the settings of a website have them: the segment "*" stands
// for any one segment, "**" for any number of them, and a star among other
// characters for any run of characters within its segment.

/** Splits the value of an option: a JSON array, or words between commas. */
export function parseList(text: string): string[] {
  try {
    return (JSON.parse(text) as unknown[]).map(String);
  } catch {
    return text.split(/[\s,]+/).filter(Boolean);
  }
}

/** The segments of a path, with a star for each under a star of a pattern; null when it does not fit. */
function fit(pattern: string, path: string): string[] | null {
  // What has a star is at the odd places.
  const parts = pattern.split(/(\*\*(?:\/|$)|[^/]*\*[^/]*)/);
  const expression = parts.map((part, i) => {
    if (part.startsWith("**")) return "((?:[^/]+/)*)";
    const text = part.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, part === "*" ? "[^/]+" : "[^/]*");
    return i % 2 ? `(${text})` : text;
  });
  const found = new RegExp(`^${expression.join("")}/?$`).exec(path.replace(/\/*$/, "/"));
  return (
    found &&
    parts
      .map((part, i) => (i % 2 ? String(found[(i + 1) / 2]).replace(/[^/]+/g, "*") : part))
      .join("")
      .split("/")
  );
}

/** Whether a path is one of the patterns'. */
export function matches(patterns: string[], path: string): boolean {
  return patterns.some((pattern) => fit(pattern, path));
}

/** The path with every segment under a star of a fitting pattern replaced by a star. */
export function mask(patterns: string[], path: string): string {
  const masks = patterns.map((pattern) => fit(pattern, path));
  const masked = path.split("/").map((segment, i) => (masks.some((m) => m?.[i] === "*") ? "*" : segment));
  return masked.join("/");
}

/**
 * A text that names places in scripts, such as a stack, with the path of every address in
 * it masked, and the ids of visitors. The line and the column behind one stay.
 */
export function maskText(patterns: string[], text: string): string {
  return text
    .replace(
      /(:\/\/[^/\s]+)(\/\S*?)(?=(:\d+)*["'),.;>\]]*([?#\s]|$))/g,
      (_, host: string, path: string) => host + mask(patterns, path),
    )
    .replace(/(anon|sess)_[-\da-f]{32,}/g, "$1_*");
}
