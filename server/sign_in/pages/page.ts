/**
 * The pages on which a person decides: texts and a form, without a script and without anything from
 * elsewhere.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ComputerChoice } from "../../../shared/computer_choice.ts";
import type { ClientFacts } from "../grant.ts";
import type { Place } from "../redirects.ts";
import { sha256 } from "../seals.ts";

const STYLE = `
:root { color-scheme: light dark; --page: #fff; --text: #14181d; --line: #8886; --edge: #767c84; --quiet: #5a5f66; --warn: #9a4b00; --bad: #b00020; --go: #1558b0; --on-go: #fff; font: 1rem/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --page: #121417; --text: #f2f4f6; --edge: #8a919a; --quiet: #a9b0b8; --warn: #ffb266; --bad: #ff8a8a; --go: #8ab8ff; --on-go: #06213f; } }
html { background: var(--page); color: var(--text); }
body { max-width: 34rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; box-sizing: border-box; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 1rem; overflow-wrap: anywhere; }
dl { margin: 0 0 1rem; border-top: 1px solid var(--line); }
dl > div { padding: .45rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--quiet); font-size: .875rem; }
dd { margin: 0; overflow-wrap: anywhere; }
fieldset { margin: 1rem 0; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; }
legend, label { font-weight: 600; }
label { display: block; margin: 1rem 0 .25rem; }
.choice { display: flex; gap: .6rem; align-items: baseline; margin: 0; padding: .4rem 0; font-weight: 400; overflow-wrap: anywhere; }
.later { border-top: 1px solid var(--line); }
input[type=checkbox] { flex: none; width: 1.1rem; height: 1.1rem; margin: 0; align-self: center; }
input[type=text], input[type=password] { width: 100%; box-sizing: border-box; font: inherit; padding: .55rem .6rem; border: 1px solid var(--edge); border-radius: .3rem; }
.hint { margin: .25rem 0 0; color: var(--quiet); font-size: .875rem; overflow-wrap: anywhere; }
.note { padding: .5rem .8rem; border-left: .25rem solid var(--warn); background: #b3590018; overflow-wrap: anywhere; }
.bad { color: var(--bad); font-weight: 600; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.25rem; }
button { font: inherit; padding: .55rem 1.4rem; border: 1px solid var(--edge); border-radius: .3rem; background: transparent; color: inherit; cursor: pointer; }
button.go { background: var(--go); border-color: var(--go); color: var(--on-go); font-weight: 600; }
:focus-visible { outline: 3px solid var(--go); outline-offset: 2px; }
a { color: var(--go); }
@media (min-width: 40rem) { body { padding-top: 3rem; } dl > div { display: grid; grid-template-columns: 11rem 1fr; gap: 1rem; } dt { font-size: inherit; } }
`;

/** A page. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Returns the headers of all pages; the style is known by its hash. */
export async function pageHeaders(): Promise<Record<string, string>> {
  const hash = Buffer.from(await sha256(STYLE), "base64url").toString("base64");
  return {
    "Content-Security-Policy":
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    "X-Frame-Options": "DENY",
    // With no-referrer a browser sends "Origin: null" with the form, which is refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
  };
}

/** What every step shows of a request. */
export interface Asking {
  readonly client: Pick<ClientFacts, "name" | "host">;
  readonly place: Place;
  /** The host of the issuer. */
  readonly server: string;
  /** The sealed request. */
  readonly consent: string;
  /** Where the form goes. */
  readonly action: string;
  /** What was wrong with the form before. */
  readonly problem?: string | undefined;
}

/** The first step: who the person is. */
interface FirstStep extends Asking {
  /** Absent where the person names it. */
  readonly office?: string | undefined;
  /** What the person named before. */
  readonly named?: string | undefined;
  /** By what a person is known: a typed key, a button alone, or the provider of that host. */
  readonly by: "key" | "button" | { readonly host: string };
}

/** The second step: what the program may use. */
interface SecondStep extends Asking {
  readonly office: string;
  /** The Computers in it; absent where they are too many to choose among. */
  readonly computers: readonly string[] | undefined;
  /** The Agent that has the seat of the office. */
  readonly seat: string | undefined;
}

/** Apart from the text around it, whichever way its script is written. */
const programOf = ({ name }: Pick<ClientFacts, "name">): Html | string =>
  name === "" ? "a program without a name" : html`<bdi>“${name}”</bdi>`;

const placeText = (place: Place): string =>
  place.kind === "website"
    ? place.host
    : place.kind === "app"
    ? `the app for ${place.scheme}: links on this device`
    : "a program on this device";

/** Shows which program asks; its name alone proves nothing. */
const facts = ({ client, place, server }: Asking): Html =>
  html`
    <dl>
      <div>
        <dt>Program</dt>
        <dd>${programOf(client)}</dd>
      </div>
      <div>
        <dt>Name vouched for by</dt>
        <dd>${client.host ??
          "no one: the program itself chose its name"}</dd>
      </div>
      <div>
        <dt>The answer goes to</dt>
        <dd>${placeText(place)}</dd>
      </div>
      <div>
        <dt>Server</dt>
        <dd>${server}</dd>
      </div>
    </dl>
  `;

/** Warns of a request that another may have begun. */
const warning = ({ client, place }: Asking): Html | "" =>
  client.host !== undefined && place.kind === "website" ? "" : html`
    <p
      class="note">Go on only if <strong>you yourself</strong> have just started this. If a message or a web page sent you here, close this page.</p>
  `;

const problemText = ({ problem }: Asking): Html | "" =>
  problem === undefined ? "" : html`
    <p class="bad" role="alert">${problem}</p>
  `;

const buttons = (go: string): Html =>
  html`
    <div
      class="buttons"><button class="go" name="decision" value="allow">${go}</button><button name="decision" value="deny" formnovalidate>Cancel</button></div>
  `;

/** Makes the page of the first step. */
export function keyPage(step: FirstStep): Html {
  const { office, named, by } = step;
  const program = programOf(step.client);
  const where = office === undefined
    ? "one of your offices"
    : `the office ${office}`;
  const officeField = office === undefined
    ? html`
      <label for="office">Office</label>
      <input id="office" name="office" type="text" value="${named ??
        ""}"
        autocomplete="off" autocapitalize="off" spellcheck="false" required>
    `
    : "";
  const keyField = by === "key"
    ? html`
      <label for="key">Your key for this Server</label>
      <input id="key" name="key" type="password" autocomplete="off" spellcheck="false"
        required autofocus>
      <p class="hint">It stays here; the program never gets it.</p>
    `
    : "";
  return page(
    `Let a program use ${where}?`,
    html`
      <h1>Let ${program} use ${where}?</h1>
      ${facts(step)}
      ${warning(step)}
      ${problemText(step)}
      <form method="post" action="${step.action}">
        <input type="hidden" name="consent" value="${step.consent}">
        ${officeField}
        ${keyField}
        <p>Which computers it may use is asked next; so far it gets nothing.</p>
        ${buttons(
          typeof by === "object" ? `Continue with ${by.host}` : "Continue",
        )}
      </form>
    `,
  );
}

/** Lists the Computers to choose among. */
function choices(computers: readonly string[] | undefined): Html {
  if (computers === undefined) {
    return html`
      <p><strong>All computers</strong>, also those that join later: this office has too many to choose among.</p>
    `;
  }
  const boxes = computers.map((name, at) =>
    html`
      <label
        class="choice"><input type="checkbox" name="computer" value="${at}" checked><span>${name}</span></label>
    `
  );
  const none = html`
    <p class="hint">There is none in the office now.</p>
  `;
  const isEmpty = computers.length === 0;
  return html`
    <fieldset>
      <legend>Computers</legend>
      ${isEmpty ? none : boxes}
      <label class="choice later"><input type="checkbox" name="later" value="1"${isEmpty
        ? raw(" checked")
        : ""}><span>Also computers that join this office later</span></label>
      <p class="hint">Without that tick, a computer that joins later is out until you sign in again.</p>
    </fieldset>
  `;
}

/**
 * Reads which Computers a person chose.
 *
 * @param shown those on the page; absent where they were too many
 * @param ticked their places in that list
 * @param later whether later ones are among them
 * @returns `undefined` for none at all
 */
export function readChoice(
  shown: readonly string[] | undefined,
  ticked: readonly string[],
  later: boolean,
): ComputerChoice | undefined {
  if (shown === undefined) return { except: [] };
  const isTicked = (_: string, at: number) => ticked.includes(String(at));
  const only = shown.filter(isTicked);
  if (later) return { except: shown.filter((name) => !only.includes(name)) };
  return only.length === 0 ? undefined : { only };
}

/** Makes the page of the second step. */
export function choicePage(step: SecondStep): Html {
  const { office, seat, computers } = step;
  const program = programOf(step.client);
  const seatNote = seat === undefined ? "" : html`
    <p
      class="note">The agent <strong>${seat}</strong> is in this office now, and an office has one agent at a time. Until it leaves, the program can sign in, but its calls are refused.</p>
  `;
  return page(
    `What may the program use in ${office}?`,
    html`
      <h1>What may ${program} use in the office ${office}?</h1>
      ${facts(step)}
      ${warning(step)}
      ${seatNote}
      ${problemText(step)}
      <form method="post" action="${step.action}">
        <input type="hidden" name="consent" value="${step.consent}">
        ${choices(computers)}
        <p>If you allow it, this program can see and call <strong>every tool of these computers</strong>, now and later, in your name, until you or the operator end that. Computers still ask for what needs confirmation there.</p>
        ${buttons("Allow")}
      </form>
    `,
  );
}

/** Makes the page that goes on by itself: Chromium would hold a redirect of a form against the page's own policy. */
export const leavePage = (to: string, text: string, title: string): Html =>
  page(
    title,
    html`
      <h1>${title}</h1>
      <p>${text} <a href="${to}" rel="noreferrer">Continue</a> if nothing happens; otherwise you can close this page.</p>
    `,
    to,
  );

/** A request that cannot go on. */
interface Fault {
  /** For the person. */
  readonly text: string;
  /** For the developer of the program. */
  readonly detail?: string;
  /** Where the program gets the error. */
  readonly back?: string;
}

/** Makes the page of a request that cannot go on. */
export const faultPage = ({ text, detail, back }: Fault): Html =>
  page(
    "Cannot sign in",
    html`
      <h1>Cannot sign in</h1>
      <p>${text}</p>
      ${detail === undefined ? "" : html`
        <p class="hint">For its developer: ${detail}</p>
      `}
      ${back === undefined ? "" : html`
        <p><a href="${back}" rel="noreferrer">Back to ${URL.parse(back)?.host ||
          "the program"}</a></p>
      `}
    `,
  );

const page = (title: string, body: Html, to?: string): Html =>
  html`
    <!doctype html>
    <html lang="en">
      <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title}</title>
    ${to === undefined
      ? ""
      : html`<meta http-equiv="refresh" content="0;url=${to}">`}
    <style>${raw(STYLE)}</style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html>
  `;
