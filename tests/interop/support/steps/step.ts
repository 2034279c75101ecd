import type { CallToolResult } from "../../../../protocol/mod.ts";
import type { AgentParty, ComputerParty } from "../parties/party.ts";
import type { Sdk } from "../venv.ts";
import type { Workplace } from "../workplace/workplace.ts";

/** An Agent and a Computer at one Server; the Agent joins first. */
export interface Office {
  /** The version of the protocol that the Agent speaks. */
  readonly sdk: Sdk;
  /** That of the Computer. */
  readonly computerSdk: Sdk;
  /** Its calls name tools as their MCP server does. */
  readonly agent: AgentParty;
  readonly computer: ComputerParty;
  /** What the Computer hosts. */
  readonly place: Workplace;
  /** Ends a party's connection, without a farewell. */
  lose(party: "agent" | "computer"): void;
}

/** One feature to test in an office. */
export type Step = (office: Office) => Promise<void>;

/** The text of a result. */
export const textOf = ({ content }: CallToolResult): string =>
  content.map(({ text }) => text ?? "").join("\n");

/** Whether an MCP server is identified by its `bundle_id` in a version (0.4 §3). */
export const hasBundleIds = (sdk: Sdk): boolean => sdk >= "0.3";

/** The tools that are not of `fixture`. */
const OWNERS: Readonly<Record<string, string>> = {
  image: "My_Files",
  digest: "My_Files",
  locked: "Vault",
};

/** The name of a tool for Agents. */
export const exposedName = (sdk: Sdk, tool: string): string =>
  hasBundleIds(sdk) ? `${OWNERS[tool] ?? "fixture"}__${tool}` : tool;
