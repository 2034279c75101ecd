/**
 * The validation library as the wire uses it: the form of it that bundlers can shake, with English
 * messages. Without them every message would be "Invalid input".
 *
 * @module
 */
import * as z from "zod/mini";
// @ts-types="zod/v4/locales/en.d.ts"
import en from "zod/v4/locales/en.js";

// Like the library's other form: whoever has chosen a language keeps it.
if (!z.config().localeError) z.config(en());

export * from "zod/mini";
