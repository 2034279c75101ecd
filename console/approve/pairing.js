// @ts-check
/// <reference lib="dom" />
/*
 * How the device is paired with a Computer: a link, opened or pasted, and six digits.
 */
/** @import { Pairing } from "../../shared/approvals/device.ts" */
/** @import { PairingLink } from "../../shared/approvals/pairing.ts" */
import { button, fill, h } from "../page/kit/element.js";
import {
  beginPairing,
  RefusedError,
  retryMs,
} from "../../shared/approvals/device.ts";
import { linkText, readLink } from "../../shared/approvals/pairing.ts";
import { LIMITS } from "../../shared/approvals/question.ts";
import { pause, sender, SERVER } from "./connection.js";
import { keep } from "./store.js";

/** Whether the page is in Safari of an iPhone or iPad, whose Home Screen has another storage. */
const isSafariPage = /iPhone|iPad/.test(navigator.userAgent) &&
  !matchMedia("(display-mode: standalone)").matches;

/** What the device calls itself at first. */
const deviceName = () => {
  const agent = navigator.userAgent;
  const device = /iPhone|iPad|Android|Windows|Macintosh|CrOS|Linux/.exec(agent);
  const browser = /Firefox|Edg|SamsungBrowser|Chrome|Safari/.exec(agent);
  const name = [device, browser].map((found) => found?.[0]).filter(Boolean);
  return name.join(", ").replace("Edg", "Edge") || "Browser";
};

/** For an iPhone, where the link is to be used in the installed page. */
const installHint = () =>
  isSafariPage &&
  h(
    "p.warning",
    "On an iPhone first put this page on the Home Screen (Share, Add to Home Screen), open it there, and paste the link: Safari keeps nothing for long, and cannot wake you.",
  );

/**
 * Makes the button that copies a link, which the address has no more.
 *
 * @param {PairingLink} link
 */
function copyButton(link) {
  const copy = button("Copy the link", async () => {
    await navigator.clipboard.writeText(linkText(location.href, link));
    fill(copy, "Copied");
  });
  return copy;
}

/**
 * Makes the field into which a link is pasted.
 *
 * @param {(link: PairingLink) => void} use
 */
export function linkField(use) {
  const problem = h("p.problem", { role: "alert" });
  const input = h("input", {
    id: "link",
    autocomplete: "off",
    spellcheck: false,
    autocapitalize: "off",
    placeholder: "https://…#1.…",
  });
  return h(
    "form",
    {
      onSubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        try {
          const link = readLink(input.value.trim());
          input.value = "";
          use(link);
        } catch {
          fill(problem, "That is no link of smcp-computer pair.");
        }
      },
    },
    installHint(),
    h("label", { for: "link" }, "Link of “smcp-computer pair”"),
    input,
    h("button.main", "Continue"),
    problem,
  );
}

/**
 * Asks whether to pair, shows the digits, and keeps the pairing.
 *
 * @param {HTMLElement} root
 * @param {PairingLink} link
 * @returns {Promise<Pairing | undefined>} undefined if the person cancels
 */
export async function pair(root, link) {
  if (SERVER !== undefined && SERVER !== link.url.replace(/\/$/, "")) {
    return await failed(
      root,
      `This page is for ${SERVER}; the link is for ${link.url}. Open the page that the link names.`,
    );
  }
  const label = await asked(root, link);
  if (label === undefined) return undefined;
  try {
    fill(root, h("p.dim", { role: "status" }, "Pairing"));
    const to = { office: link.office, route: link.computer };
    const cancelled = new AbortController();
    const send = sender(to, cancelled.signal);
    const begun = await beginPairing(link, send, label, false);
    const pairing = await digitsTyped(root, begun, cancelled);
    if (pairing === undefined) return undefined;
    await keep(pairing);
    // So that the browser does not forget it to save space.
    navigator.storage?.persist?.().catch(() => {});
    return pairing;
  } catch (error) {
    return await failed(
      root,
      error instanceof RefusedError || /answers 404/.test(String(error))
        ? "The link was used, its pairing has ended, or its Computer is not connected. Run “smcp-computer pair” again."
        : error instanceof Error
        ? `${error.message}.`
        : String(error),
    );
  }
}

/**
 * @param {HTMLElement} root
 * @param {PairingLink} link
 * @returns {Promise<string | undefined>} the device's name
 */
const asked = (root, link) =>
  new Promise((resolve) => {
    const { computer, office, url } = link;
    const input = h("input", {
      id: "label",
      value: deviceName(),
      maxLength: LIMITS.label,
      autocomplete: "off",
    });
    fill(
      root,
      h("h1", { tabIndex: -1 }, "Pair with ", h("bdi", computer), "?"),
      h(
        "p",
        "Its tool calls will ask here. Pair only with a Computer of yours.",
      ),
      h("dl", [
        h("dt", "Office"),
        h("dd", h("bdi", office)),
        h("dt", "Server"),
        h("dd", h("bdi", url)),
      ]),
      installHint(),
      isSafariPage && copyButton(link),
      h(
        "form",
        {
          onSubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            resolve(input.value.trim() || deviceName());
          },
        },
        h("label", { for: "label" }, "Name of this device"),
        input,
        h("button.main", "Pair"),
        button("Cancel", () => resolve(undefined)),
      ),
    );
    root.querySelector("h1")?.focus();
  });

/**
 * @param {HTMLElement} root
 * @param {import("../../shared/approvals/device.ts").BeginningPairing} begun
 * @param {AbortController} cancelled ends its requests
 */
async function digitsTyped(root, { digits, paired }, cancelled) {
  const { signal } = cancelled;
  const state = h("p.dim", { role: "status" }, "Waiting");
  fill(
    root,
    h("h1", { tabIndex: -1 }, "Type this at the Computer"),
    h(
      "p.digits",
      { "aria-label": [...digits].join(" "), role: "img" },
      `${digits.slice(0, 3)} ${digits.slice(3)}`,
    ),
    h("p", "No one else needs it: no support, no chat, no Agent."),
    state,
    button("Cancel", () => cancelled.abort()),
  );
  root.querySelector("h1")?.focus();
  for (let failures = 0; !signal.aborted;) {
    try {
      return await paired(signal);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof RefusedError) throw error;
      fill(state, "Not connected, trying again");
      await pause(retryMs(failures++, error), signal);
    }
  }
  return undefined;
}

/**
 * @param {HTMLElement} root
 * @param {string} text
 * @returns {Promise<undefined>}
 */
const failed = (root, text) =>
  new Promise((resolve) => {
    fill(
      root,
      h("h1", { tabIndex: -1 }, "Cannot pair"),
      h("p.problem", { role: "alert" }, text),
      button("Back", () => resolve(undefined)),
    );
    root.querySelector("h1")?.focus();
  });
