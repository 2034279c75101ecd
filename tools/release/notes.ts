/**
 * Prints the notes of a release, which its tag names; fails unless the tag, the version of the
 * package and the changelog agree.
 *
 * ```sh
 * deno task release:notes v0.2.0
 * deno task release:notes v0.2.0 https://github.com/OWNER/NAME/blob/v0.2.0/
 * ```
 *
 * @module
 */
import config from "../../deno.json" with { type: "json" };

/**
 * Cuts the notes of a release out of a changelog.
 *
 * @param tag a version, with or without a `v` before it
 * @param version the version of the package
 * @param base the address that links to files of the repository get; they stay as they are without it
 * @returns Markdown without the heading; lines of a paragraph are joined, since a release's page shows
 *   each line break
 * @throws {Error} naming what does not agree
 */
export function notesOf(
  changelog: string,
  tag: string,
  version: string,
  base = "",
): string {
  if (tag.replace(/^v/, "") !== version) {
    throw new Error(`The tag ${tag} is not the version, which is ${version}`);
  }
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`${version} (`));
  if (section === undefined) {
    throw new Error(
      `CHANGELOG.md has no heading "## ${version} (DAY)"; deno task version ${version} writes it`,
    );
  }
  const notes = section.slice(section.indexOf("\n")).trim();
  if (notes === "") throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return notes.replace(/(?<=\]\()(?![a-z]+:|#)/g, base).split(
    /(^```[^]*?^```$)/m,
  )
    .map((part) => part.startsWith("```") ? part : joinLines(part)).join("");
}

/** Joins a line with the one before, unless it begins an item, a heading, a quote or a row. */
const joinLines = (text: string): string =>
  text.replace(/(?<=\S)\n *(?=[^\s>#|*-])(?!\d+\. )/g, " ");

if (import.meta.main) {
  const [tag = "", base] = Deno.args;
  const path = new URL("../../CHANGELOG.md", import.meta.url);
  try {
    const changelog = await Deno.readTextFile(path);
    console.log(notesOf(changelog, tag, config.version, base));
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
