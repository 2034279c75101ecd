import { assertEquals, assertThrows } from "@std/assert";
import config from "../../../deno.json" with { type: "json" };
import { notesOf } from "../../../tools/release/notes.ts";
import { PLACES, release, versionsIn } from "../../../tools/release/version.ts";

const root = new URL("../../../", import.meta.url);
const read = (file: string) => Deno.readTextFile(new URL(file, root));

for (const [file, places] of Object.entries(PLACES)) {
  Deno.test(`${file} names the version of deno.json, wherever deno task version sets it`, async () => {
    const text = await read(file);
    for (const place of places) {
      const found = new Set(versionsIn(text, place));
      assertEquals([...found], [config.version], String(place));
    }
  });
}

Deno.test("no other page names a tarball or an image of some version", async () => {
  const named =
    /a2c-smcp-[a-z]+-\d[\d.]*\.tgz|a2c-smcp\/sdk@\^?\d|smcp-server:\d/;
  const wrong: string[] = [];
  for (const folder of ["", "docs/", "deploy/", "examples/"]) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder, root))) {
      const file = `${folder}${name}`;
      if (!isFile || [...Object.keys(PLACES), "deno.lock"].includes(file)) {
        continue;
      }
      if (named.test(await read(file))) wrong.push(file);
    }
  }
  assertEquals(wrong, []);
});

const CHANGELOG = `# Changelog

All changes.

## Unreleased

- **New**: a thing.

## 0.2.1 (2026-12-01)

The second one, with [a page](docs/page.md)
and [another](https://example.com/).

- **Fixed**: a thing
  that broke.
  - This one, and
    that one.

\`\`\`sh
one \\
  two
\`\`\`

## 0.2.0 (2026-11-26)

The first one.
`;

Deno.test("release() gives the unreleased changes a version and a day, and the notes are found by them", () => {
  const released = release(CHANGELOG, "0.3.0", "2027-01-01");
  assertEquals(notesOf(released, "v0.3.0", "0.3.0"), "- **New**: a thing.");
  assertThrows(
    () => release(released, "0.4.0", "2027-01-02"),
    Error,
    'no heading "## Unreleased"',
  );
});

Deno.test("notesOf() returns one section, with joined lines, and with links to the files of the tag", () => {
  const base = "https://example.com/blob/v0.2.1/";
  assertEquals(
    notesOf(CHANGELOG, "v0.2.1", "0.2.1", base),
    `The second one, with [a page](${base}docs/page.md) and [another](https://example.com/).

- **Fixed**: a thing that broke.
  - This one, and that one.

\`\`\`sh
one \\
  two
\`\`\``,
  );
  assertEquals(notesOf(CHANGELOG, "0.2.0", "0.2.0"), "The first one.");
});

Deno.test("notesOf() refuses a tag that is not the version, and a version that the changelog lacks", () => {
  for (
    const [tag, version, text] of [
      ["v0.2.1", "0.2.0", "The tag v0.2.1 is not the version, which is 0.2.0"],
      ["v0.3.0", "0.3.0", 'no heading "## 0.3.0 (DAY)"'],
    ] as const
  ) {
    assertThrows(() => notesOf(CHANGELOG, tag, version), Error, text);
  }
  const empty = "## 0.3.0 (2027-01-01)\n\n## 0.2.0 (2026-11-26)\n\nText.\n";
  assertThrows(() => notesOf(empty, "v0.3.0", "0.3.0"), Error, "says nothing");
});

Deno.test("the notes of the changes so far can be cut, and name no line of another release", async () => {
  const changelog = await read("CHANGELOG.md");
  const named = /^## Unreleased/m.test(changelog)
    ? release(changelog, config.version, "2026-01-01")
    : changelog;
  const notes = notesOf(named, `v${config.version}`, config.version);
  assertEquals(notes.match(/^## /m), null);
});
