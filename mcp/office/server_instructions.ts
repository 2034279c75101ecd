/**
 * The instructions of MCP servers, as part of those of the office.
 *
 * A Computer is asked for them once, and again when its tools or its configuration have changed, which is when
 * MCP servers start. The first request after that waits for a moment; a Computer that does not answer, as those of
 * other SDKs, is not waited for again.
 *
 * @module
 */
import type { OfficeAgent } from "../office_agent.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { mcpServerOf, type ServerInstructions } from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** The most characters of one MCP server, and of all together: the text is part of every prompt. */
const MAX_TEXT = 4_000;
const MAX_ALL = 20_000;
/** The most MCP servers that are named because theirs are left out. */
const MAX_NAMED = 50;
/** How long a request waits for them. */
const WAIT_MS = 1_000;

/** What a Computer has answered; `texts` is absent until it has. */
interface Asked {
  readonly done: Promise<void>;
  texts?: readonly ServerInstructions[];
}

/** What is read of an Agent. */
export type InstructingOffice = Pick<
  OfficeAgent,
  "tools" | "on" | "getInstructions"
>;

/** The part of a catalogue that is read. */
type Shown = Pick<Catalogue, "computers" | "tools">;

/** Follows the instructions of an office's MCP servers. */
export class FollowedInstructions {
  readonly #agent: InstructingOffice;
  readonly #asked = new Map<string, Asked>();
  /** Computers that took too long. */
  readonly #slow = new Set<string>();
  readonly #offs: (() => void)[];
  /** The text that was made last, and the tools that it is for; absent after a change. */
  #made: { readonly tools: Shown["tools"]; readonly text: string } | undefined;

  constructor(agent: InstructingOffice) {
    this.#agent = agent;
    const forget = ({ computer }: { computer?: string | undefined }) => {
      if (computer !== undefined) this.#asked.delete(computer);
      this.#made = undefined;
    };
    this.#offs = [
      agent.on("updateConfig", forget),
      agent.on("enterOffice", forget),
      agent.on("tools", forget),
    ];
  }

  /**
   * Writes the instructions of the MCP servers whose tools are shown, and of those that have no tools.
   *
   * @param shown what clients see of the office
   */
  async text(shown: Shown): Promise<string> {
    const { computers, tools } = shown;
    const asked = computers.filter((each) => this.#names(each))
      .map((computer) => [computer, this.#ask(computer)] as const);
    await this.#wait(asked);
    if (this.#made?.tools === tools) return this.#made.text;
    const isShown = shownServers(shown, this.#agent);
    const all = asked.flatMap(([computer, { texts = [] }]) =>
      texts.filter(({ mcp_server }) => isShown(computer, mcp_server))
        .map((each) => ({ computer, ...each }))
    );
    const text = writeInstructions(all);
    const isWhole = asked.every(([computer, each]) =>
      each.texts && this.#asked.get(computer) === each
    );
    if (isWhole) this.#made = { tools, text };
    return text;
  }

  /** Follows no more. */
  end(): void {
    for (const off of this.#offs.splice(0)) off();
  }

  /** Whether a Computer names the MCP servers of its tools: one that does not has no such request. */
  #names(computer: string): boolean {
    const tools = this.#agent.tools.get(computer) ?? [];
    return tools.length === 0 ||
      tools.some((tool) => mcpServerOf(tool) !== undefined);
  }

  #ask(computer: string): Asked {
    const known = this.#asked.get(computer);
    if (known) return known;
    const asked: Asked = {
      done: this.#agent.getInstructions(computer).catch(() => [])
        .then((texts) => {
          asked.texts = texts;
        }),
    };
    this.#asked.set(computer, asked);
    return asked;
  }

  async #wait(all: readonly (readonly [string, Asked])[]): Promise<void> {
    const waiting = all.filter(([computer, { texts }]) =>
      texts === undefined && !this.#slow.has(computer)
    );
    if (waiting.length === 0) return;
    const done = Promise.all(waiting.map(([, asked]) => asked.done));
    await withTimeout(WAIT_MS, () => done).catch(() => {
      for (const [computer, { texts }] of waiting) {
        if (texts === undefined) this.#slow.add(computer);
      }
    });
  }
}

/** Finds out which MCP servers a client may see: a client that sees none of a server's tools does not see its text. */
function shownServers(
  { tools }: Shown,
  agent: Pick<InstructingOffice, "tools">,
): (computer: string, server: string) => boolean {
  const keyOf = (...parts: (string | undefined)[]) => JSON.stringify(parts);
  const visible = new Set(
    tools.map(({ computer, original }) =>
      keyOf(computer, mcpServerOf(original))
    ),
  );
  const offering = new Set(
    [...agent.tools].flatMap(([computer, tools]) =>
      tools.map((tool) => keyOf(computer, mcpServerOf(tool)))
    ),
  );
  return (computer, server) => {
    const key = keyOf(computer, server);
    return visible.has(key) || !offering.has(key);
  };
}

/** Writes instructions, each under its Computer and MCP server; what is too long is cut, with a mark. */
export function writeInstructions(
  all: readonly (ServerInstructions & { readonly computer: string })[],
): string {
  let room = MAX_ALL;
  const left: string[] = [];
  const parts = all.flatMap(({ computer, mcp_server, text }) => {
    const name = `${mcp_server} of ${computer}`;
    const most = Math.min(MAX_TEXT, room);
    const whole = text.trim();
    if (most < Math.min(whole.length, MAX_NAMED)) {
      left.push(name);
      return [];
    }
    const shown = whole.slice(0, most).toWellFormed();
    room -= shown.length;
    const more = whole.length - shown.length;
    const mark = more > 0 ? ` […, ${more} more characters]` : "";
    return `From the MCP server ${name}, whose own names of tools have no prefix:\n${shown}${mark}`;
  });
  const named = left.slice(0, MAX_NAMED).join(", ");
  const more = left.length - MAX_NAMED;
  return [
    ...parts,
    ...left.length === 0 ? [] : [
      `The instructions of these MCP servers do not fit here: ${named}${
        more > 0 ? ` and ${more} more` : ""
      }.`,
    ],
  ].join("\n\n");
}
