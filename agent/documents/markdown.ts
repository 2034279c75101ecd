import type { DPEDocument, DPEElement, DPEPage } from "../../protocol/mod.ts";

/** Formatters by category, in lower case and letters only; other categories become plain text. */
const FORMATTERS: ReadonlyMap<string, (text: string) => string> = new Map([
  ["title", (text) => `### ${oneLine(text)}`],
  ["heading", (text) => `### ${oneLine(text)}`],
  ["listitem", (text) => `- ${text.replaceAll("\n", "\n  ")}`],
  ["code", fenced],
  ["codesnippet", fenced],
  ["formula", (text) => `$$\n${text}\n$$`],
  ["image", (text) => `[Image: ${oneLine(text)}]`],
  ["quote", (text) => `> ${text.replaceAll("\n", "\n> ")}`],
]);

/**
 * Converts a document to Markdown for a language model (spec §8.3).
 *
 * A `#` heading for the document, `##` for each page that has a title, `###` for titles within;
 * elements of unknown categories become plain text, empty ones are left out.
 *
 * @param pages with their elements, in reading order
 */
export function toMarkdown(
  { title, summary }: Pick<DPEDocument, "title" | "summary">,
  pages: readonly DPEPage[],
): string {
  const blocks = [
    `# ${oneLine(title)}`,
    ...(summary ? [`> ${oneLine(summary)}`] : []),
    ...pages.flatMap((page) => [
      ...(page.title ? [`## ${oneLine(page.title)}`] : []),
      ...(page.elements ?? []).map(toBlock).filter((block) => block !== ""),
    ]),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function toBlock(element: DPEElement): string {
  const text = textOf(element).trim();
  if (text === "") return "";
  const category = element.category.toLowerCase().replaceAll(/[^a-z]/g, "");
  return FORMATTERS.get(category)?.(text) ?? text;
}

/** Returns the first that is not empty of `text`, `summary`, and the `text` of `content`. */
const textOf = ({ text, summary, content }: DPEElement): string =>
  text || summary || (typeof content?.text === "string" ? content.text : "");

/** Wraps a text in a fence longer than any in the text. */
function fenced(text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((r) => r.length + 1)));
  return `${fence}\n${text}\n${fence}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
