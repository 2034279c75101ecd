import { setTimeout as sleep } from "node:timers/promises";
import { plain } from "../../../cli/terminal_text.ts";
import { OperatorClient } from "./operator_client.ts";
import type { ShowFlags } from "./show.ts";

/** How long to wait before a lost stream is opened again. */
const RETRY_MS = 1000;

/**
 * Prints what happens, one line for each event, until a signal; a stream that is lost is opened again
 * where it was.
 *
 * @throws {Error} when it cannot be opened
 */
export async function watch(
  office: string | undefined,
  flags: ShowFlags,
): Promise<void> {
  const client = new OperatorClient(flags);
  const path = office === undefined
    ? "/events"
    : `/events?office=${encodeURIComponent(office)}`;
  let last = "";
  while (true) {
    const stream = await client.stream(path, last);
    stream.setEncoding("utf8");
    try {
      for await (const { id, kind, data } of eventsOf(stream)) {
        last = id;
        if (kind === "open" || kind === "end") tell(kind, data);
        else {
          console.log(
            flags.json ? JSON.stringify(data) : eventLine(kind, data),
          );
        }
      }
    } catch {
      // The next try says why, if it lasts.
    }
    await sleep(RETRY_MS);
  }
}

/** An event of the stream. */
interface Event {
  readonly id: string;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function* eventsOf(stream: AsyncIterable<string>): AsyncIterable<Event> {
  let text = "";
  for await (const chunk of stream) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id, kind, data] =
        /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (id === undefined || kind === undefined) continue; // a comment
      yield { id, kind, data: JSON.parse(data ?? "{}") };
    }
  }
}

/** What is said of the stream itself is not among its events. */
function tell(kind: string, { missed, reason }: Event["data"]): void {
  if (kind === "end") {
    console.error(`the stream ended: ${plain(String(reason))}`);
  } else if (missed === true) console.error("events were missed");
}

/** Writes an event as one line for people: `12:03:04 north joined role=computer name=pc`. */
export function eventLine(
  kind: string,
  { at, event: _, office, ...fields }: Event["data"],
): string {
  const time = String(at).slice(11, 19);
  const rest = Object.entries(fields).map(([key, value]) =>
    ` ${key}=${
      typeof value === "string" && /^[\w.:/@-]+$/.test(value)
        ? value
        : JSON.stringify(value)
    }`
  );
  return plain(
    `${time} ${typeof office === "string" ? office : "-"} ${kind}${
      rest.join("")
    }`,
  );
}
