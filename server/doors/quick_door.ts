/**
 * The quick door of a gateway: usual POSTs are answered before the app, without a `Request`, a `Response` and
 * streams, which take longer than all else.
 *
 * A request that it leaves goes on to the app, with what is known by then: its admission, and its body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway, GatewayBody } from "../../shared/gateway.ts";
import { isOfficeName } from "../../protocol/names.ts";
import { KnownHosts, type RequestParts } from "../http/gate.ts";
import type { HostRule } from "../http/host_rule.ts";
import type { Listener } from "../http/listen.ts";
import type { AdmissionParts, GatewayAdmission } from "./gateway_admission.ts";

/** The part of a target after the path of a gateway: an office whose name needs no encoding or none, and a query. */
const TARGET = /^(?:\/([\w.~-]*))?(?:\?([^#]*))?$/;

/** The part of a gateway that answers usual requests. */
type QuickGateway = Pick<Gateway, "path" | "mayAnswer" | "answer">;

/** The parts of a server that {@linkcode QuickDoor} needs. */
type QuickParts =
  & HostRule
  & Pick<RequestParts, "maxMessageBytes">
  & Pick<AdmissionParts, "signIn">;

/** Answers usual POSTs before the app. */
export class QuickDoor {
  readonly #gateway: QuickGateway;
  readonly #admission: Pick<GatewayAdmission, "admit" | "keep">;
  readonly #parts: QuickParts;
  readonly #hosts: KnownHosts;
  /** What was read of the requests that it has left. */
  readonly #bodies = new WeakMap<object, GatewayBody>();

  constructor(
    gateway: QuickGateway,
    admission: Pick<GatewayAdmission, "admit" | "keep">,
    parts: QuickParts,
  ) {
    this.#gateway = gateway;
    this.#admission = admission;
    this.#parts = parts;
    this.#hosts = new KnownHosts(parts);
  }

  /** Returns the body of a request that it has left. */
  bodyOf(incoming: object): GatewayBody | undefined {
    return this.#bodies.get(incoming);
  }

  /** Answers usual requests, and leaves others to a listener. */
  readonly before = (next: Listener): Listener => (incoming, outgoing) => {
    const asked = this.#read(incoming);
    if (asked === undefined) return next(incoming, outgoing);
    void this.#answer({ incoming, outgoing }, asked).then(
      (isAnswered) => isAnswered || next(incoming, outgoing),
    );
  };

  /** @returns the office and the query of a request that may be usual */
  #read(incoming: IncomingMessage): Asked | undefined {
    const { method, headers, url = "" } = incoming;
    const { path } = this.#gateway;
    const isUsual = method === "POST" && url.startsWith(path) &&
      headers.origin === undefined && headers["sec-fetch-site"] === undefined &&
      Number(headers["content-length"]) <= this.#parts.maxMessageBytes;
    if (!isUsual || !this.#gateway.mayAnswer?.(headers)) return undefined;
    const target = TARGET.exec(url.slice(path.length));
    if (!target || !this.#hosts.has(incoming)) return undefined;
    const [, office, query = ""] = target;
    if (office) return isOfficeName(office) ? { office, query } : undefined;
    return this.#parts.signIn ? { office: undefined, query } : undefined;
  }

  /** @returns false for a request that is left, to which nothing has been answered */
  async #answer(
    { incoming, outgoing }: {
      readonly incoming: IncomingMessage;
      readonly outgoing: ServerResponse;
    },
    { office, query }: Asked,
  ): Promise<boolean> {
    const verdict = this.#admission.admit({ incoming, outgoing }, office);
    try {
      const caller = await verdict;
      const bytes = await bytesOf(incoming);
      const { headers } = incoming;
      const post = { headers, query, bytes, outgoing };
      const body = await this.#gateway.answer?.(post, caller);
      if (body === undefined) return true;
      this.#bodies.set(incoming, body);
    } catch {
      // The app refuses it, for the same reason; or its client is gone.
      if (outgoing.headersSent) return true;
    }
    this.#admission.keep(incoming, verdict);
    return false;
  }
}

/** What a usual request asks for. */
interface Asked {
  /** Absent where the token of a sign-in has it. */
  readonly office: string | undefined;
  readonly query: string;
}

/** Reads a body, as long as its header states. */
function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const [first] = chunks;
      const isOne = first !== undefined && chunks.length === 1;
      resolve(isOne ? first : Buffer.concat(chunks));
    });
    incoming.on("error", reject);
  });
}
