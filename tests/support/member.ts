import type { Member } from "../../server/mod.ts";

/** A Computer "pc" of office "north", with what a test wants to be different. */
export const member = (over: Partial<Member> = {}): Member => ({
  role: "computer",
  name: "pc",
  office: "north",
  socket: "s1",
  version: "0.2.0",
  instance: undefined,
  principal: undefined,
  ...over,
});
