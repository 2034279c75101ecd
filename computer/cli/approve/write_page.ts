/**
 * `approve-page`: the page of a person's device as a folder, for an origin that the Server has no say in.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileErrorCode, unwritable } from "../../../cli/explain_failure.ts";
import { ownCommand } from "../../../cli/own_command.ts";
import { print } from "../../../cli/print.ts";
import { approveFolder } from "../../../console/approve.ts";
import { isLoopbackName } from "../../../shared/loopback.ts";

/** The flags of `approve-page`. */
interface PageFlags {
  /** The address of the Server. */
  readonly url: string;
}

/**
 * Writes the page into a new or empty folder.
 *
 * @throws {Error} that names the argument, the problem and the fix
 */
export async function writeApprovePage(
  folder: string,
  { url }: PageFlags,
): Promise<void> {
  const files = approveFolder(serverAddress(url));
  try {
    await fs.mkdir(folder, { recursive: true });
    const [first] = await fs.readdir(folder);
    if (first !== undefined) {
      throw new Error(
        `${folder} is not empty (it has ${first}); name a new folder, so that nothing else is served beside the page`,
      );
    }
    for (const [name, text] of Object.entries(files)) {
      await fs.writeFile(join(folder, name), text, { flag: "wx" });
    }
  } catch (error) {
    if (fileErrorCode(error) === "EEXIST") {
      throw new Error(`${folder} is a file; name a new folder`);
    }
    throw unwritable(error, folder, "`approve-page FOLDER`");
  }
  const pair = `${ownCommand("smcp-computer", process.execPath)} pair --page`;
  print(
    `Wrote ${folder}: the page for devices, which reaches ${url} alone. Serve it with https from a host that only you can change, with nothing else on its origin.
Next: ${pair} https://HOST/`,
  );
}

/** What a policy of content can name: it separates by commas, semicolons and spaces. */
const PLAIN_ADDRESS = /^https?:\/\/[\w.:[\]-]+(?:\/[\w./~-]*)?$/;

/**
 * Checks the address of a Server.
 *
 * @returns it without a slash at its end
 */
export function serverAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !PLAIN_ADDRESS.test(url.href)) {
    throw new Error(
      `--url: expected the address of a Server, such as https://smcp.example, not ${
        JSON.stringify(text)
      }`,
    );
  }
  const isLocal = url.protocol === "http:" && isLoopbackName(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    throw new Error(
      `--url: ${url.href} is without https: browsers refuse it from a page with https, and others could change what is sent`,
    );
  }
  return url.href.replace(/\/+$/, "");
}
