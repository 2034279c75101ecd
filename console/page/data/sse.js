// @ts-check
/// <reference lib="dom" />

/**
 * An event of a stream.
 * @typedef {{ id: string, event: string, data: string }} ServerEvent
 */

/** What one event may have, in characters; a stream with more of it is no stream of events. */
const MAX_EVENT_CHARS = 4 * 2 ** 20;

/**
 * Reads a stream of events as EventSource does, which cannot send a token. Each value is all that came
 * in one piece, so that a page draws once for many of them.
 *
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncGenerator<ServerEvent[], void, void>}
 */
export async function* readEvents(stream) {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const end = rest.lastIndexOf("\n\n");
      if (end === -1) {
        if (rest.length > MAX_EVENT_CHARS) {
          throw new Error("An event is too large");
        }
        continue;
      }
      const whole = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const events = whole.split("\n\n").map(readEvent).filter((event) =>
        event.data !== ""
      );
      if (events.length > 0) yield events;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * @param {string} text
 * @returns {ServerEvent}
 */
function readEvent(text) {
  const found = { id: "", event: "message", data: "" };
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    const name = line.slice(0, at);
    const value = line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (name === "data") found.data += found.data === "" ? value : `\n${value}`;
    else if (name === "id" || name === "event") found[name] = value;
  }
  return found;
}
