/**
 * Sets the version of the package in all places where it stands, and gives the changes so far its
 * name in the changelog.
 *
 * ```sh
 * deno task version 0.2.1
 * ```
 *
 * @module
 */
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);

/** A release; there are no others, such as `0.3.0-rc.1`, which npm would offer as the latest. */
const VERSION = /^\d+\.\d+\.\d+$/;

const TARBALLS = /(?<=a2c-smcp-[a-z]+-)\d+\.\d+\.\d+(?=\.tgz)/g;

/** The files that name the version, and where; `deno.json` is the one that the others follow. */
export const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  "deno.json": [/(?<=^ {2}"version": ")[^"]+/gm],
  "cli/version.ts": [/(?<=PACKAGE_VERSION = ")[^"]+/g],
  "deploy/server.yaml": [/(?<=\/smcp-server:)[\w.]+/g],
  "docs/edge.md": [TARBALLS],
  "examples/cloudflare/README.md": [TARBALLS],
  "docs/getting-started.md": [TARBALLS, /(?<=jsr:@a2c-smcp\/sdk@\^)[\d.]+/g],
};

/** Heading of the changes since the last release. */
const UNRELEASED = /^## Unreleased.*$/m;

/** Returns the versions that a text names in a place. */
export const versionsIn = (text: string, place: RegExp): string[] =>
  [...text.matchAll(place)].map(([found]) => found);

/**
 * Names the unreleased changes of a changelog.
 *
 * @param day such as `2026-11-26`
 * @throws {Error} where there are none
 */
export function release(
  changelog: string,
  version: string,
  day: string,
): string {
  if (!UNRELEASED.test(changelog)) {
    throw new Error(`CHANGELOG.md has no heading "## Unreleased"`);
  }
  return changelog.replace(UNRELEASED, `## ${version} (${day})`);
}

if (import.meta.main) {
  const [version = ""] = Deno.args;
  if (!VERSION.test(version)) {
    console.error(`error: "${version}" is no version such as 0.2.1`);
    Deno.exit(2);
  }
  const edit = async (file: string, change: (text: string) => string) => {
    const path = fileURLToPath(new URL(file, root));
    await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));
  };
  const day = Temporal.Now.plainDateISO("UTC").toString();
  await edit("CHANGELOG.md", (text) => release(text, version, day));
  for (const [file, places] of Object.entries(PLACES)) {
    await edit(
      file,
      (text) =>
        places.reduce((text, place) => text.replace(place, version), text),
    );
  }
}
