/** What `npx` may be asked for: packages of ours, and well-known ones of others. */
const KNOWN: readonly RegExp[] = [
  /^@a2c-smcp\/[a-z]+(@[\d.]+)?$/,
  /^@modelcontextprotocol\/[a-z-]+(@[\d.]+)?$/,
  /^deno$/, // of the Deno project
  /^wrangler$/, // of Cloudflare
];

/** A command line: options, of which `-p` names the package, and a word. */
const LINE =
  /(?<![\w=/-])npx(?:\.cmd)?((?:[ \t]+-{1,2}[\w-]+(?:=\S+)?)*)[ \t]+([^\s`"'\\|),;]+)/g;
/** The same in a configuration: a command and its arguments. */
const CONFIGURED =
  /"?command"?: "npx",\s*"?args"?: \[((?:\s*"[^"]*",?)*)\s*\]/g;

/**
 * Finds what npm would be asked for by the command lines and configurations in a text, but for known
 * packages: a name that nobody has is code of whoever registers it.
 */
export function unknownNpxWords(text: string): string[] {
  const lines = [...text.matchAll(LINE)].map(([, , word = ""]) => word);
  const configured = [...text.matchAll(CONFIGURED)].map(([, args = ""]) => {
    const words = [...args.matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word);
    return words.find((word) => !word.startsWith("-")) ?? "";
  });
  return [...lines, ...configured].filter((word) =>
    !KNOWN.some((known) => known.test(word))
  );
}
