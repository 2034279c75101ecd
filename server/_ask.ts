import type { Socket } from "socket.io";
import { ErrorCode, toErrorPayload } from "../protocol/mod.ts";
import { type AckListener, emitWithAck } from "./_ack.ts";

/**
 * Sends a request under every name that the client may know it by (spec §12); the first real
 * answer counts. A client that does not know a name answers with nothing or with 400, or not at
 * all, so those count only when nothing better comes.
 *
 * @returns forgets the request, as {@linkcode emitWithAck} does
 */
export function ask(
  socket: Socket,
  names: readonly string[],
  payload: unknown,
  milliseconds: number,
  listener: AckListener,
): () => void {
  const answers = new Map<string, unknown>();
  const forgets: (() => void)[] = [];
  const forget = () => forgets.forEach((each) => each());
  const settle = (answer: unknown) => {
    forget();
    listener.answered(answer);
  };
  for (const name of names) {
    forgets.push(emitWithAck(socket, name, payload, milliseconds, {
      answered: (first) => {
        answers.set(name, first);
        if (isReal(first)) settle(first);
        else if (answers.size === names.length) settle(best(names, answers));
      },
      timedOut: () => {
        forget();
        if (answers.size > 0) settle(best(names, answers));
        else listener.timedOut();
      },
    }));
  }
  return forget;
}

const isReal = (answer: unknown): boolean =>
  typeof answer === "object" && answer !== null &&
  toErrorPayload(answer)?.code !== ErrorCode.BAD_REQUEST;

/** The event's own name comes first; an error says more than nothing. */
function best(
  names: readonly string[],
  answers: ReadonlyMap<string, unknown>,
): unknown {
  const given = names.map((name) => answers.get(name));
  return given.find((answer) => toErrorPayload(answer)) ?? given[0];
}
