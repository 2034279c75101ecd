/** What somebody could try against approvals. */
export interface Threat {
  /** In some words. */
  readonly name: string;
  /** Whether it is stopped: tests of such a one have its number, as in `threat 13: …`. */
  readonly stopped: boolean;
  /** What of it is not, in the words of docs/security.md. */
  readonly open?: string;
}

const stopped = (name: string, open?: string): Threat => ({
  name,
  stopped: true,
  ...(open !== undefined && { open }),
});

const open = (name: string, words: string): Threat => ({
  name,
  stopped: false,
  open: words,
});

/** All of them, in the order of their numbers, from 1. */
export const THREATS: readonly Threat[] = [
  stopped("an Agent: arguments other than those shown"),
  stopped("an Agent: the same call again after a yes"),
  stopped("an Agent: markup, invisible letters and false words in arguments"),
  stopped("an Agent: the dangerous part at the end of long arguments"),
  stopped("an Agent: tires the person"),
  stopped("an Agent: a harmless call first, then what an hour allows"),
  stopped("an Agent: an optional argument past an allow rule"),
  open(
    "an Agent with a shell or a file tool: allows itself anything",
    "an Agent with a shell or a file tool can pair a device",
  ),
  open(
    "an Agent that operates the browser or phone of the person",
    "an Agent that operates your browser or phone can answer there",
  ),
  stopped("another member, or an operator's key: answers, reads or lists"),
  stopped("an operator's key: calls a tool"),
  stopped(
    "a curious Server: reads diffs, rules and what permissions cover",
    "Secrecy of calls from the Server: arguments, results and the reasons of a no",
  ),
  stopped("a Server: makes, edits, repeats and swaps answers"),
  stopped("a Server: holds a yes until it suits"),
  stopped("a Server: shows a made-up or old question"),
  stopped(
    "a Server: drops everything",
    "Availability: a Server can keep every question away; then the answer is no",
  ),
  open(
    "a Server: serves a lying page",
    "Honesty of a page: who serves it can answer in your name",
  ),
  stopped(
    "a Server: changes a call before it asks, or a result after",
    "Truth of results: the Server can change one",
  ),
  stopped("a Server: hides that it has approvals, or lies that it is offline"),
  stopped("a Server: takes the place of phone or Computer at pairing"),
  open(
    "a Server: uses standing permission",
    'Protection by "always" and rules from the Server\'s operator',
  ),
  stopped("the network: reads and changes"),
  stopped("who photographs the link: pairs first"),
  open(
    "a phisher: has the digits of another phone typed",
    "Protection from phishing: who makes you type the digits of another phone has paired it",
  ),
  stopped("a phisher: a link to a Computer of his own"),
  stopped(
    "a stolen phone: says yes",
    "Protection by a stolen phone's lock",
  ),
  stopped(
    "a stolen copy of the Computer's files: says yes",
    "a stolen copy of the Computer's files, with the Server's help, can ask you something",
  ),
  open(
    "a stolen machine that runs",
    "of a stolen machine that runs",
  ),
  open(
    "a restored backup: a removed device is there again",
    "after a restored backup, a device that was removed is there again",
  ),
  stopped("an MCP server: changes a tool while its question is open, or after"),
  open(
    "an MCP server: does something else than its definition promises",
    "an MCP server can do something else than its definition promises",
  ),
  stopped("a page or device: an address that the Computer should post to"),
  stopped(
    "a push service, a lock screen, a shoulder: read",
    "it learns the address of the Computer and the times of its messages",
  ),
  stopped("anybody: probes for offices and Computers"),
  stopped(
    "a site, a frame, an overlay: has the person tap elsewhere",
    "an overlay on the phone can make you tap where you did not mean to",
  ),
  stopped("an Agent: has a secret file shown in a diff"),
  open(
    "who records now, and has a quantum computer later",
    "Secrecy from who records questions now and has a quantum computer later",
  ),
];
