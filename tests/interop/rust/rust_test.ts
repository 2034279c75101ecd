import { testCast } from "../support/casts.ts";
import { RUST_AGENT } from "../support/known_failures.ts";

const CASTS = [
  ["Rust", "our", "our"],
  ["Rust", "our", "Python"],
  ["our", "Rust", "our"],
  ["our", "Rust", "Python"],
  ["Python", "Rust", "our"],
] as const;

for (const [agent, server, computer] of CASTS) {
  const known = agent === "Rust" ? RUST_AGENT : {};
  testCast("rust", { sdk: "0.4", agent, server, computer, known });
}
