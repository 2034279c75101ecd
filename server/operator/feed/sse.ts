/** Where a stream of events goes on: which recording, and the number of the next event. */
export interface Cursor {
  /** Names a recording; numbers begin again in another one. */
  readonly recording: string;
  /** The number of the last event that was seen. */
  readonly seq: number;
}

/** Reads the value of `Last-Event-ID`; `undefined` for what this server did not write. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const [, recording, seq] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(text ?? "") ??
    [];
  return recording === undefined ? undefined : { recording, seq: Number(seq) };
}

/** Writes a cursor as the `id` of an event. */
export const cursorText = ({ recording, seq }: Cursor): string =>
  `${recording}.${seq}`;
