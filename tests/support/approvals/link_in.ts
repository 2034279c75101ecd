/** Finds the link of `smcp-computer pair` on a terminal, which breaks it into lines; empty where there is none. */
export const linkIn = (shown: string): string =>
  /https?:\/\/\S+#1\.[\w.\-\s]+?(?=Open this)/.exec(shown)?.[0]
    .replaceAll(/\s/g, "") ?? "";
