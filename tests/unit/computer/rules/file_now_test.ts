import { assertEquals } from "@std/assert";
import {
  mkdir,
  mkdtemp,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFileNow } from "../../../../computer/tools/file_now.ts";
import { Decisions } from "../../../support/approvals/decisions.ts";

Deno.test({
  name:
    "threat 36: a question has of a file only what is below the folder of its rule, with links resolved: regular files of text up to 128 KiB",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const home = await realpath(await mkdtemp(join(tmpdir(), "a2c-file-")));
    const notes = join(home, "notes");
    await mkdir(join(notes, "sub"), { recursive: true });
    await writeFile(join(home, "key"), "secret");
    await writeFile(join(notes, "a.txt"), "before");
    await writeFile(join(notes, "bytes"), Uint8Array.of(0xff, 0xfe));
    await writeFile(join(notes, "large"), "x".repeat(131_073));
    await writeFile(join(notes, "full"), "x".repeat(131_072));
    await symlink(join(home, "key"), join(notes, "link"));
    await symlink(home, join(notes, "up"));
    await symlink(join(home, "missing"), join(notes, "dangling"));
    await symlink(join(notes, "a.txt"), join(notes, "inside"));
    await symlink(notes, join(home, "way"));
    await new Deno.Command("mkfifo", { args: [join(notes, "pipe")] }).output();
    const now = (path: unknown, under = notes, content: unknown = "after") =>
      readFileNow({ path: "p", content: "c", under }, { p: path, c: content });
    const before = { of: "c", before: "before" };
    const rows: [path: unknown, expected: unknown][] = [
      [join(notes, "a.txt"), before],
      [join(notes, "inside"), before],
      [`${notes}/sub/../a.txt`, before],
      [join(home, "way", "a.txt"), before],
      [join(notes, "new"), { of: "c" }],
      [join(notes, "full"), { of: "c", before: "x".repeat(131_072) }],
      [join(home, "key"), undefined],
      [`${notes}/../key`, undefined],
      [join(notes, "link"), undefined],
      [join(notes, "up", "key"), undefined],
      [join(notes, "up", "new"), undefined],
      [join(notes, "dangling"), undefined],
      [join(notes, "sub"), undefined],
      [notes, undefined],
      [join(notes, "pipe"), undefined],
      [join(notes, "bytes"), undefined],
      [join(notes, "large"), undefined],
      [join(notes, "none", "new"), undefined],
      ["a.txt", undefined],
      [7, undefined],
    ];
    for (const [path, expected] of rows) {
      assertEquals(await now(path), expected, `${path}`);
    }
    assertEquals(
      await now(join(home, "way", "a.txt"), join(home, "way")),
      before,
    );
    assertEquals(await now(join(notes, "a.txt"), notes, 7), undefined);
    assertEquals(
      await now(join(notes, "a.txt"), join(home, "none")),
      undefined,
    );

    const diffs: unknown[] = [];
    const decisions = new Decisions({
      rules: [{
        then: "ask",
        tool: "write_file",
        file: { path: "path", content: "content", under: notes },
      }],
      confirm: ({ diff }) => {
        diffs.push(diff);
        return "once";
      },
    });
    for (const file of ["a.txt", "link"]) {
      const params = { path: join(notes, file), content: "after" };
      assertEquals(await decisions.outcome({ params }), "run");
    }
    assertEquals(diffs, [{ of: "content", before: "before" }, undefined]);
    await rm(home, { recursive: true });
  },
});
