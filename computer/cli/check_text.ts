import { pad, plain, plainLines, textWidth } from "../../cli/terminal_text.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import type { ServerStatus } from "../host/server_status.ts";
import { labelOf } from "./live/lines.ts";
import type { CheckedServer, Findings } from "./check_findings.ts";

/** Formats the head line: how much there is to check. */
export const headLine = (
  file: string,
  { servers, inputs }: ComputerConfig,
): string =>
  `${plain(file)}: ${count(servers.length, "MCP server")}, ${
    count(inputs.length, "input")
  }`;

/** Formats the lines of one MCP server, aligned with those of all others. */
export function serverLines(
  server: CheckedServer,
  servers: readonly ServerStatus[],
): string[] {
  const { type, state, tools, windows, documents } = server;
  const widest = (texts: readonly string[]) =>
    Math.max(...texts.map((text) => textWidth(plain(text))));
  const names = servers.map(labelOf);
  const types = servers.map(({ type }) => type);
  const cells: [text: string, width: number][] = [
    [`${SIGNS[state] ?? "✗"} ${plain(labelOf(server))}`, 2 + widest(names)],
    [type, widest(types)],
    [
      state,
      widest(servers.map((s) => s.state === "disabled" ? s.state : "running")),
    ],
    [count(tools.length, "tool"), "99 tools".length],
    [count(windows.length, "window"), "0 windows".length],
    [count(documents.length, "document"), 0],
  ];
  return [
    cells.map(([text, width]) => pad(text, width)).join("  ").trimEnd(),
    ...list("tools", tools),
    ...list("windows", windows),
    ...list("documents", documents),
  ];
}

/** Formats the lines about the whole configuration. */
export const tailLines = (
  { inputs, skills, warnings, problems }: Findings,
): string[] => [
  ...inputs.map(({ id, type, used }) =>
    `input ${plain(id)} (${type})${used ? "" : ": nobody uses it"}`
  ),
  ...skills.length === 0
    ? []
    : [`${count(skills.length, "skill")}: ${skills.map(plain).join(", ")}`],
  ...warnings.map((text) => `warning: ${plain(text)}`),
  ...problems.map((text) => `problem: ${plainLines(text)}`),
];

const SIGNS: Readonly<Record<string, string>> = {
  running: "✓",
  disabled: "-",
  starting: "◌",
};

const list = (what: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`    ${what}: ${names.map(plain).join(", ")}`];

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;
