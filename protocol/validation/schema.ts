/**
 * The validation library in its tree-shakable form, with English messages; without a locale every
 * message would be "Invalid input".
 *
 * @module
 */
import * as z from "zod/mini";
// @ts-types="zod/v4/locales/en.d.ts"
import en from "zod/v4/locales/en.js";

// As in the library's default form, a locale that the program has set is kept.
if (!z.config().localeError) z.config(en());

export * from "zod/mini";
