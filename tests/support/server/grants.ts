import type { GrantView, StartSignIn } from "../../../server/doors/sign_in.ts";

/** A grant of the office "home", by the key "me". */
export const grantView = (over: Partial<GrantView> = {}): GrantView => ({
  id: "g1",
  principal: "key:me",
  office: "home",
  program: "Claude",
  vouched_by: "claude.ai",
  computers: { except: [] },
  since: "2026-11-01T08:00:00.000Z",
  used: "2026-11-28T09:30:00.000Z",
  expires: "2026-12-28T09:30:00.000Z",
  ...over,
});

/** A sign-in that has grants, and lets nobody in. */
export const signInWith =
  (grants: readonly GrantView[]): StartSignIn => ({ audit }) => {
    let left = [...grants];
    return {
      mount() {},
      admit: () => undefined,
      refresh: () => undefined,
      challenge: () => "Bearer",
      url: () => "https://smcp.example.com/mcp",
      grants: () => Promise.resolve([...left]),
      end({ by, reason }, which) {
        const ended = left.filter(which);
        left = left.filter((each) => !which(each));
        for (const { id, office, principal, program, vouched_by } of ended) {
          audit({
            event: "grant_ended",
            grant: id,
            why: "operator",
            by,
            reason,
            office,
            principal,
            program,
            ...(vouched_by !== undefined && { vouched_by }),
          });
        }
        return Promise.resolve(ended);
      },
      close: () => Promise.resolve(),
    };
  };
