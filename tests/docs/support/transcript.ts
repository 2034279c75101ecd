import { type Home, NAMED_HOME } from "./home.ts";

/** A command of a transcript, and what it wrote. */
export interface Step {
  /** As it was typed. */
  readonly command: string;
  /** Its output, line by line. */
  readonly output: readonly string[];
}

/** The blocks of a page that show a terminal: what follows `$ `, and what came of it. */
export function transcriptOf(page: string): Step[] {
  const blocks = page.matchAll(/^```console\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, text = ""]) =>
    text.split(/^\$ /m).slice(1).map((step) => {
      const [command = "", ...output] = step.trimEnd().split("\n");
      return { command, output };
    })
  );
}

/** What a transcript says of a machine: its paths, ports and tokens, and how long things took. */
export function normalize(text: string, { home }: Home): string {
  return text.replaceAll(home, NAMED_HOME)
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8787")
    .replaceAll(/([ #]token[ =])[0-9a-f]{64}$/gm, "$1…")
    .replaceAll(/\d+ ms$/gm, "9 ms").trimEnd();
}
