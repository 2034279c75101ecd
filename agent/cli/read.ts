/**
 * The commands that read from a Computer: documents, resources, prompts and skills.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import {
  print,
  printContent,
  printJson,
  writeContent,
} from "../../cli/print.ts";
import {
  atComputer,
  type ComputerFlags,
  headline,
  printRows,
  serverMeant,
} from "./office.ts";
import { UsageError } from "../../cli/run.ts";
import { present } from "../../shared/checks.ts";
import {
  ErrorCode,
  ProtocolError,
  type ResourceContents,
} from "../../protocol/mod.ts";

/** Flags of `docs`. */
interface DocsFlags extends ComputerFlags {
  /** Only documents of this file type. */
  type?: string;
  /** Number of documents to skip. */
  offset: number;
  /** Maximum number of documents to show. */
  limit: number;
}

/** Prints the documents of a Computer that match any of the words; all of them without words. */
export async function docs(words: string[], flags: DocsFlags): Promise<void> {
  const { type, offset, limit } = flags;
  const keywords = words.length > 0 ? words : undefined;
  const query = present({ keywords, fileType: type, offset, limit });
  const found = await atComputer(
    flags,
    (agent, computer, signal) =>
      agent.getFinder(computer, { ...query, signal }),
  );
  if (flags.json) return printJson(found);
  const { documents, total_count } = found;
  if (documents.length === 0) {
    return print(
      total_count === 0
        ? "No document matches."
        : `There are ${total_count} documents; --offset ${offset} is past the last.`,
    );
  }
  printRows(
    documents.map(({ title, file_type, page_count, last_modified, uri }) => {
      const pages = page_count > 0 ? `${page_count} pages` : "";
      return [title, file_type, pages, last_modified?.slice(0, 10) ?? "", uri];
    }),
  );
  const first = offset + 1;
  const last = offset + documents.length;
  if (last < total_count) {
    const rest = `the next with --offset ${last}`;
    print(`${first} to ${last} of ${total_count}; ${rest}`);
  }
}

/** Flags of `read`. */
interface ReadFlags extends ComputerFlags {
  /** The file to write to. */
  output?: string;
}

/** Prints a document as Markdown; as JSON, with all its pages. */
export async function read(uri: string, flags: ReadFlags): Promise<void> {
  const [scheme] = /^[a-z][a-z\d+.-]*:/i.exec(uri) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== "dpe:") {
    throw new UsageError(
      `${uri} is not the URI of a document; to read a resource, name its MCP server too: read URI MCP_SERVER`,
    );
  }
  await atComputer(flags, async (agent, computer, signal) => {
    const document = await agent.openDocument(computer, uri, { signal });
    if (flags.json) {
      const pages = await Array.fromAsync(document.pages({ signal }));
      return printJson({ ...document.info, pages });
    }
    const markdown = await document.toMarkdown({ signal });
    if (flags.output !== undefined) {
      return await writeFile(flags.output, markdown);
    }
    printContent(markdown);
  });
}

/** Flags of `prompt`. */
interface PromptFlags extends ComputerFlags {
  /** What it is filled in with. */
  arg: [string, string][];
}

/** Prints a resource of an MCP server, or writes it to a file. */
export async function readResource(
  uri: string,
  server: string,
  flags: ReadFlags,
): Promise<void> {
  const contents = await atComputer(flags, async (agent, computer, signal) => {
    const id = await serverMeant(agent, computer, server, signal);
    return await agent.readResource(computer, id, uri, { signal });
  });
  if (flags.json) return printJson(contents);
  if (flags.output !== undefined) {
    return await writeFile(
      flags.output,
      Buffer.concat(contents.map(readBytes)),
    );
  }
  for (const { text, blob, mimeType } of contents) {
    if (typeof text === "string") printContent(text);
    else if (typeof blob === "string") {
      throw binary(uri, mimeType ?? "of unknown type");
    }
  }
}

const binary = (name: string, type: string): UsageError =>
  new UsageError(
    `${name} is binary (${type}): write it to a file with --output FILE`,
  );

/** Prints the prompts of a Computer. */
export async function prompts(flags: ComputerFlags): Promise<void> {
  const found = await atComputer(
    flags,
    (agent, computer, signal) => agent.getPrompts(computer, { signal }),
  );
  if (flags.json) return printJson(found);
  if (found.length === 0) return print("No MCP server has prompts.");
  printRows(
    found.map(({ name, mcp_server, title, description }) => {
      const about = String(description ?? title ?? "");
      return [name, mcp_server, headline(about)];
    }),
  );
}

/** Prints the messages of a prompt. */
export async function prompt(
  name: string,
  server: string,
  flags: PromptFlags,
): Promise<void> {
  const { messages, description } = await atComputer(
    flags,
    async (agent, computer, signal) => {
      const id = await serverMeant(agent, computer, server, signal);
      return await agent.getPrompt(computer, id, name, {
        arguments: Object.fromEntries(flags.arg),
        signal,
      });
    },
  );
  if (flags.json) return printJson({ description, messages });
  for (const { role, content } of messages) {
    printContent(`${role}: ${content.text ?? JSON.stringify(content)}`);
  }
}

/** Prints the instructions of a Computer's MCP servers. */
export async function instructions(flags: ComputerFlags): Promise<void> {
  const found = await atComputer(
    flags,
    (agent, computer, signal) => agent.getInstructions(computer, { signal }),
  );
  if (flags.json) return printJson(found);
  if (found.length === 0) return print("No MCP server has instructions.");
  for (const { mcp_server, text } of found) {
    print(`${mcp_server}:`);
    printContent(text);
  }
}

const readBytes = ({ text, blob }: ResourceContents): Buffer =>
  typeof text === "string"
    ? Buffer.from(text)
    : Buffer.from(typeof blob === "string" ? blob : "", "base64");

/** Prints the skills of a Computer. */
export async function skills(flags: ComputerFlags): Promise<void> {
  const found = await atComputer(
    flags,
    (agent, computer, signal) => agent.getSkills(computer, { signal }),
  );
  if (flags.json) return printJson(found);
  if (found.length === 0) return print("The Computer has no skills.");
  printRows(
    found.map((each) => [each.name, each.source, headline(each.description)]),
  );
}

/** Prints a file of a skill, or writes it to a file. */
export async function skill(
  name: string,
  path: string | undefined,
  flags: ReadFlags,
): Promise<void> {
  await atComputer(flags, async (agent, computer, signal) => {
    const options = { ...present({ path }), signal };
    const file = await agent.getSkill(computer, name, options)
      .catch((error) => {
        throw explained(error, name, path);
      });
    const { text, bytes, stream: _, ...facts } = file;
    if (flags.output !== undefined) {
      await writeFile(flags.output, await bytes());
      return flags.json ? printJson(facts) : undefined;
    }
    const found = await text().catch((error) => {
      const isBinary = error instanceof TypeError;
      throw isBinary ? binary(facts.path, facts.mimeType) : error;
    });
    if (flags.json) return printJson({ ...facts, text: found });
    writeContent(found);
  });
}

/** Names what to do about a skill, or a file of it, that there is not. */
function explained(
  error: unknown,
  name: string,
  path: string = "SKILL.md",
): unknown {
  if (!(error instanceof ProtocolError)) return error;
  if (error.code === ErrorCode.MCP_SERVER_NOT_FOUND) {
    return new Error(`There is no skill "${name}"; "skills" lists them`, {
      cause: error,
    });
  }
  if (error.code !== ErrorCode.SKILL_NOT_ACCESSIBLE) return error;
  const { reason } = error.details ?? {};
  const why = REASONS.get(reason) ?? `is not given out (${reason})`;
  return new Error(`${path} of skill "${name}" ${why}`, { cause: error });
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ["not_found", "does not exist; its SKILL.md names its files"],
  ["traversal", "leads out of its folder; give a path below it"],
  ["forbidden", "has secrets of its Computer, which keeps them"],
  ["too_large", "is too large to be fetched"],
]);
