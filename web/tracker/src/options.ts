// The options of the tag. Each is an attribute of the script element, "data-" and its
// name in kebab case, or, for tools that strip attributes from tags, a parameter of
// its address with its name as here.
import { parseList } from "./pattern.ts";

/** Options that are on or off; an attribute without a value is on. */
export type Flag =
  | "debug"
  | "disabled"
  | "enableBatching"
  | "enableRetries"
  | "respectDnt"
  | "respectGpc"
  | "trackAttributes"
  | "trackEngagement"
  | "trackErrors"
  | "trackHashChanges"
  | "trackInteractions"
  | "trackOutgoingLinks"
  | "trackPerformance"
  | "trackWebVitals";

/** Options that are a number of zero or more. */
export type Amount =
  | "batchSize"
  | "batchTimeout"
  | "initialRetryDelay"
  | "maxRetries"
  | "samplingRate"
  | "sessionTimeoutMinutes";

/** Options that are a list. */
export type List = "globals" | "maskPatterns" | "skipPatterns";

/** Options that are a text. */
export type Text = "anonymizeVisitorIds" | "apiUrl" | "clientId";

/** What of a script element is read. */
export interface Tag {
  src: string;
  dataset: Record<string, string | undefined>;
}

/** Whether an option is on. */
export type ReadFlag = (name: Flag, otherwise?: boolean) => boolean;

/** The options of a tag, by name; each with what it is when the tag does not say. */
export type Options = [
  flag: ReadFlag,
  amount: (name: Amount, otherwise: number) => number,
  list: (name: List) => string[],
  text: (name: Text) => string,
];

export function readOptions({ src, dataset }: Tag): Options {
  const { searchParams } = new URL(src);
  const read = (name: string): string | null => dataset[name] ?? searchParams.get(name);
  return [
    (name, otherwise = false) => (read(name) ?? String(otherwise)) !== "false",
    (name, otherwise) => {
      const value = parseFloat(read(name) ?? "");
      return value >= 0 ? value : otherwise;
    },
    (name) => parseList(read(name) ?? ""),
    (name) => read(name) ?? "",
  ];
}
