import { UsageError } from "../../cli/run.ts";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { columns, plainLines } from "../../cli/terminal_text.ts";
import type { DPEPage } from "../../protocol/mod.ts";
import {
  chooseComputer,
  type ComputerFlags,
  printJson,
  withAgent,
} from "./office.ts";

/** Flags of `docs`. */
export interface DocsFlags extends ComputerFlags {
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
  const found = await withAgent(
    flags,
    async (agent, signal) =>
      await agent.getFinder(await chooseComputer(agent, flags, signal), {
        ...(words.length > 0 && { keywords: words }),
        ...(type !== undefined && { fileType: type }),
        offset,
        limit,
        signal,
      }),
  );
  if (flags.json) return printJson(found);
  const { documents, total_count } = found;
  if (documents.length === 0) {
    return console.log(
      total_count === 0
        ? "No document matches."
        : `There are ${total_count} documents; --offset ${offset} is past the last.`,
    );
  }
  const rows = documents.map((
    { title, file_type, page_count, last_modified, uri },
  ) => [
    title,
    file_type,
    page_count > 0 ? `${page_count} pages` : "",
    last_modified?.slice(0, 10) ?? "",
    uri,
  ]);
  columns(rows).forEach((line) => console.log(line));
  const last = offset + documents.length;
  if (last < total_count) {
    console.log(
      `${
        offset + 1
      } to ${last} of ${total_count}; the next with --offset ${last}`,
    );
  }
}

/** Flags of `read`. */
export interface ReadFlags extends ComputerFlags {
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
  await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    const document = await agent.openDocument(computer, uri, { signal });
    if (flags.json) {
      const pages: DPEPage[] = [];
      for await (const page of document.pages({ signal })) pages.push(page);
      return printJson({ ...document.info, pages });
    }
    const markdown = await document.toMarkdown({ signal });
    if (flags.output !== undefined) {
      return await writeFile(flags.output, markdown);
    }
    console.log(process.stdout.isTTY ? plainLines(markdown) : markdown);
  });
}
