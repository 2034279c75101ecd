import { get, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { createGunzip } from "node:zlib";

/** What one of the streams was sent so far. */
export interface StreamRead {
  readonly bytes: number;
  readonly events: number;
}

/** Open streams of events. */
export interface Streams extends AsyncDisposable {
  /** Returns what the first of them was sent so far; the others only read. */
  read(): StreamRead;
}

/** Opens streams of all events, and reads them as fast as they come. */
export async function openStreams(
  url: string,
  token: string,
  count: number,
): Promise<Streams> {
  const open = await Promise.all(
    Array.from({ length: count }, () => openStream(url, token)),
  );
  let bytes = 0;
  let events = 0;
  const [first] = open;
  for (const response of open) {
    response.on("error", () => {}); // it is cut at the end
    response.resume();
  }
  first?.on("data", (chunk: Uint8Array) => bytes += chunk.length);
  const gunzip = createGunzip();
  gunzip.on("error", () => {}); // as above
  first?.pipe(gunzip).on("data", (chunk: Uint8Array) => {
    for (let at = chunk.indexOf(LINE); at >= 0;) {
      // An event has three lines, and an empty one.
      if (chunk[at + 1] === LINE) events++;
      at = chunk.indexOf(LINE, at + 1);
    }
  });
  return {
    read: () => ({ bytes, events }),
    async [Symbol.asyncDispose]() {
      gunzip.destroy();
      await Promise.all(open.map(async (response) => {
        const closed = once(response, "close");
        response.destroy();
        await closed;
      }));
    },
  };
}

const LINE = 10;

async function openStream(
  url: string,
  token: string,
): Promise<IncomingMessage> {
  const request = get(`${url}/operator/v1/events`, {
    // As browsers do.
    headers: { Authorization: `Bearer ${token}`, "Accept-Encoding": "gzip" },
    agent: false,
  });
  const [response]: IncomingMessage[] = await once(request, "response");
  if (response?.statusCode !== 200) {
    throw new Error(`Cannot open a stream: ${response?.statusCode}`);
  }
  return response;
}
