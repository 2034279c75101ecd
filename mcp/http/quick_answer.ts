/**
 * Answers to requests past `Request` and `Response`: one JSON text where nothing precedes the result, else a
 * stream of events.
 *
 * A stream begins with the first notification, or after some seconds: proxies and clients end a request that
 * is silent for a minute. One timer watches all answers of a view.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { RpcError } from "./guards.ts";
import { COMMENT, eventOf, eventsOf, STREAM_HEADERS } from "./kept_alive.ts";
import { writtenOf } from "../../shared/json/written.ts";
import { type Deadline, Deadlines } from "../../shared/deadlines.ts";

/** A silent answer begins its stream after this time at most. */
const SILENCE_MS = 5_000;

/** The answers of a view, with one timer. */
export class QuickAnswers {
  readonly #everyMs: number;
  readonly #silent = new Deadlines<SilentAnswer>();

  /** @param everyMs the time between two comments of a stream */
  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Begins the answer to a request. */
  begin(
    outgoing: ServerResponse,
    id: string | number,
    headers: Readonly<Record<string, string>>,
  ): QuickAnswer {
    const answer = new QuickAnswer(outgoing, id, headers);
    const silent: SilentAnswer = {
      due: performance.now() + Math.min(SILENCE_MS, this.#everyMs),
      expire: () => {
        answer.onSilent();
        silent.due = performance.now() + this.#everyMs;
        this.#silent.add(silent, performance.now());
      },
    };
    this.#silent.add(silent, performance.now());
    outgoing.on("close", () => this.#silent.remove(silent));
    return answer;
  }

  /** Stops the timer. */
  close(): void {
    this.#silent.clear();
  }
}

/** When an answer has been silent for too long. */
interface SilentAnswer extends Deadline {
  due: number;
}

/** The answer to one request. */
export class QuickAnswer {
  readonly #outgoing: ServerResponse;
  readonly #id: string | number;
  readonly #headers: Readonly<Record<string, string>>;
  #isRelayed = false;
  /** Called when it was silent for too long; by default it sends a sign of life. */
  onSilent = (): void => this.comment();

  constructor(
    outgoing: ServerResponse,
    id: string | number,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#outgoing = outgoing;
    this.#id = id;
    this.#headers = headers;
  }

  /** Whether nothing more can be sent: the client is gone, or has its answer. */
  get isOver(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.writableEnded;
  }

  /** Calls back when the client is gone, or has its answer. */
  onOver(callback: () => void): void {
    this.#outgoing.on("close", callback);
  }

  /**
   * Sends the result, and ends; a long one as its MCP server has written it, where nothing has changed it.
   *
   * @param added further members of it, which replace those of the same name
   */
  send(result: object, added: object = {}): void {
    if (this.isOver) return;
    // In its text, they would be given twice.
    const isTwice = Object.keys(added).some((name) =>
      Object.hasOwn(result, name)
    );
    const written = isTwice || this.#outgoing.headersSent
      ? undefined
      : writtenOf(result);
    if (written === undefined) {
      const whole = { ...result, ...added };
      return this.#answer({ result: whole, jsonrpc: "2.0", id: this.#id });
    }
    const more = JSON.stringify(added).slice(1, -1);
    this.#json([
      `{"result":{${more}${more && ","}`,
      written.subarray(1), // without its bracket
      `,"jsonrpc":"2.0","id":${JSON.stringify(this.#id)}}`,
    ]);
  }

  /** Sends an error in place of a result, and ends. */
  fail(message: string): void {
    const error = { code: RpcError.REFUSED, message };
    this.#answer({ error, jsonrpc: "2.0", id: this.#id });
  }

  #answer(answer: object): void {
    if (this.isOver) return;
    const text = JSON.stringify(answer);
    if (this.#outgoing.headersSent) this.#outgoing.end(eventOf(text));
    else this.#json([text]);
  }

  /** Sends a JSON text of several parts, in one write: to join them would copy them. */
  #json(parts: readonly (string | Uint8Array)[]): void {
    const outgoing = this.#outgoing;
    outgoing.writeHead(200, {
      "content-type": "application/json",
      "content-length": parts.reduce(
        (sum, part) => sum + Buffer.byteLength(part),
        0,
      ),
      ...this.#headers,
    });
    outgoing.cork();
    for (const part of parts.slice(0, -1)) outgoing.write(part);
    outgoing.end(parts.at(-1));
  }

  /** Sends a notification, on the stream that it begins. */
  notify(notification: object): void {
    if (this.isOver) return;
    const text = JSON.stringify({ jsonrpc: "2.0", ...notification });
    this.#write(eventOf(text));
  }

  /** Sends a sign of life, on the stream that it begins. */
  comment(): void {
    if (!this.isOver && !this.#isRelayed) this.#write(COMMENT);
  }

  /** Ends without a result. */
  end(): void {
    if (this.isOver) return;
    this.#begin();
    this.#outgoing.end();
  }

  /** Sends the response that was made in another way, with what the client has of this one already. */
  async relay(response: Response): Promise<void> {
    const outgoing = this.#outgoing;
    const { body, status, headers } = response;
    if (this.isOver) return void await body?.cancel();
    this.#isRelayed = true;
    const isBegun = outgoing.headersSent;
    if (!isBegun) outgoing.writeHead(status, Object.fromEntries(headers));
    const rest = isBegun ? eventsOf(response) : body;
    if (rest === null) return void outgoing.end();
    await pipeline(rest, outgoing).catch(() => {
      // The client is gone, by which its request has ended.
    });
  }

  #write(event: string | Uint8Array): void {
    this.#begin();
    this.#outgoing.write(event);
  }

  /** Begins the stream. */
  #begin(): void {
    if (this.#outgoing.headersSent) return;
    this.#outgoing.writeHead(200, { ...STREAM_HEADERS, ...this.#headers });
  }
}
