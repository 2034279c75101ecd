/** Writes an event of a stream of server-sent events; JSON has no line breaks. */
export const sseText = (id: string, kind: string, json: string): string =>
  `id: ${id}\nevent: ${kind}\ndata: ${json}\n\n`;

/** What keeps a stream open where nothing happens. */
export const SSE_COMMENT = ":\n\n";
