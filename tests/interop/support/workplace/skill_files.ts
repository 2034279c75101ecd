/** A text larger than what any peer puts into one answer. */
export const LONG_TEXT: string = "One line of many.\n".repeat(3_000);

/** A file of a skill that no peer takes for a text. */
export const SCRIPT = "#!/bin/sh\necho hello\n";

/** The text of the `SKILL.md` of a skill. */
export const skillText = (name: string): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${skillBody(name)}`;

/** What is below its front matter. */
export const skillBody = (name: string): string => `# The skill ${name}\n`;
