import { columns, plain } from "../../cli/terminal_text.ts";
import { isComputerNotFound } from "../requests/computer_not_found.ts";
import { ErrorCode, ProtocolError, type Resource } from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";
import {
  chooseComputer,
  type ComputerFlags,
  type OfficeFlags,
  printJson,
  withAgent,
} from "./office.ts";
import { labelOf, serverMeant } from "./server_names.ts";
import { count } from "./words.ts";

/** Prints the members of the office. */
export async function members(flags: OfficeFlags): Promise<void> {
  const sessions = await withAgent(
    flags,
    (agent, signal) => agent.listRoom({ signal }),
  );
  if (flags.json) return printJson(sessions);
  print(sessions.map((
    { name, role, a2c_version },
  ) => [name, role, a2c_version ?? ""]));
}

/** Prints the resources of one MCP server of a Computer, or of all. */
export async function resources(
  server: string | undefined,
  flags: ComputerFlags,
): Promise<void> {
  const found = await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    if (server !== undefined) {
      const id = await serverMeant(agent, computer, server, signal);
      return new Map([[id, await listAll(agent, computer, id, signal)]]);
    }
    const { servers } = await agent.getConfig(computer, { signal });
    const found = new Map<string, Resource[] | string>();
    for (const id of Object.keys(servers)) {
      const list = await listAll(agent, computer, id, signal)
        .catch((error) => {
          if (hasNone(error)) return String(error.message);
          throw error;
        });
      found.set(id, list);
    }
    return found;
  });
  if (flags.json) {
    const lists = [...found].filter(([, list]) => typeof list !== "string");
    return printJson(Object.fromEntries(lists));
  }
  for (const [name, list] of found) {
    if (typeof list === "string") {
      console.log(`${plain(name)}: ${plain(list)}`);
      continue;
    }
    console.log(`${plain(name)}: ${count(list.length, "resource")}`);
    print(
      list.map(({ uri, name, title }) => [
        `  ${uri}`,
        String(title ?? name ?? ""),
      ]),
    );
  }
  if (found.size === 0) console.log("The Computer hosts no MCP server.");
}

async function listAll(
  agent: SmcpAgent,
  computer: string,
  server: string,
  signal: AbortSignal,
): Promise<Resource[]> {
  const list: Resource[] = [];
  const all = agent.allResources(computer, server, { signal });
  for await (const resource of all) list.push(resource);
  return list;
}

/** Checks whether a server has no resources or does not run; the others are still shown. */
const hasNone = (error: unknown): boolean =>
  isComputerNotFound(error) || error instanceof ProtocolError &&
    error.code === ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED;

/** Prints the configuration of a Computer, which holds no secrets. */
export async function config(flags: ComputerFlags): Promise<void> {
  const { inputs, servers } = await withAgent(
    flags,
    async (agent, signal) =>
      await agent.getConfig(
        await chooseComputer(agent, flags, signal),
        { signal },
      ),
  );
  if (flags.json) return printJson({ inputs, servers });
  console.log(count(Object.keys(servers).length, "MCP server"));
  print(
    Object.entries(servers).map((
      [key, { name, type, disabled, server_parameters }],
    ) => [
      `  ${labelOf(key, name)}`,
      disabled ? "disabled" : type,
      "url" in server_parameters
        ? server_parameters.url
        : [server_parameters.command, ...server_parameters.args].join(" "),
    ]),
  );
  console.log(count(inputs?.length ?? 0, "input"));
  print(
    inputs?.map(({ id, type, description }) => [`  ${id}`, type, description]),
  );
}

const print = (rows: readonly (readonly string[])[] = []): void =>
  columns(rows).forEach((line) => console.log(line));
