import {
  hostilePayloads,
  seeded,
} from "../../support/wire/hostile_payloads.ts";
import {
  CLIENT_EVENTS,
  NOTIFICATIONS,
  SERVER_EVENTS,
} from "../../../protocol/mod.ts";

/** A packet of the fuzzer: the arguments of an event, with or without an ack, or a whole frame. */
export type FuzzPacket =
  | { readonly kind: "event"; readonly body: string; readonly ack: boolean }
  | {
    readonly kind: "frame";
    readonly frame: string | Uint8Array<ArrayBuffer>;
  };

/** Offices named in packets. */
export const FUZZ_OFFICES: readonly string[] = ["fuzz 1", "fuzz 2", "fuzz 3"];

const NAMES = ["agent", "computer", "other", ""];

/**
 * Creates packets with the structure of the wire, deterministic for a seed: events of the
 * protocol with payloads that are right, nearly right or absurd, and now and then a frame of the
 * corpus, as it is or broken.
 *
 * @param corpus lines of `corpus/packets.txt`
 */
export function packetFuzzer(
  corpus: readonly string[],
  seed: number,
): () => FuzzPacket {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T =>
    list[Math.floor(random() * list.length)] as T;
  const events = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
    ...Object.keys(NOTIFICATIONS),
    "client:made_up",
    "error",
    "__proto__",
  ];
  const valid = () => ({
    agent: pick(NAMES),
    req_id: `${Math.floor(random() * 50)}`,
    computer: pick(NAMES),
    tool_name: "echo",
    params: { a: [1, { b: "c" }] },
    timeout: 1 + Math.floor(random() * 30),
    mcp_server: "files",
    uri: "dpe://host/doc",
    office_id: pick(FUZZ_OFFICES),
    role: pick(["agent", "computer"]),
    name: pick(NAMES),
  });
  const wrongs = Array.from(
    { length: 50 },
    (_, i) => hostilePayloads(valid(), 60, seed + i),
  ).flat();
  const wrong = () => pick(wrongs);
  const mutated = (text: string): string => {
    const at = Math.floor(random() * text.length);
    const end = at + Math.floor(random() * 4);
    switch (Math.floor(random() * 4)) {
      case 0:
        return text.slice(0, at) + text.slice(end);
      case 1:
        return text.slice(0, end) + text.slice(at);
      case 2:
        return text.slice(0, at) + String.fromCharCode(random() * 0xffff) +
          text.slice(at + 1);
      default:
        return text.slice(0, at) + pick(corpus) + text.slice(end);
    }
  };
  return () => {
    const dice = random();
    if (dice < 0.05) {
      return { kind: "frame", frame: toFrame(pick(corpus)) };
    }
    if (dice < 0.1) {
      return { kind: "frame", frame: mutated(pick(corpus)) };
    }
    const payloads = dice < 0.5
      ? [valid()]
      : dice < 0.95
      ? [wrong()]
      : [wrong(), wrong(), wrong()];
    const body = JSON.stringify([pick(events), ...payloads]);
    return { kind: "event", body, ack: random() < 0.7 };
  };
}

/** A line of the corpus: text, or bytes where it starts with `\x`. */
export function toFrame(line: string): string | Uint8Array<ArrayBuffer> {
  if (!line.startsWith("\\x")) return line;
  return Uint8Array.from(
    line.slice(2).split("\\x"),
    (hex) => parseInt(hex, 16),
  );
}
