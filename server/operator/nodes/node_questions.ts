import { z } from "zod";
import {
  callSchema,
  cancelSchema,
  kickSchema,
  memberSchema,
  officeSchema,
  processSchema,
  revokeSchema,
} from "../schemas.ts";

const policy = z.object({
  offices: z.array(z.string()).readonly().exactOptional(),
});
const by = z.string();
const office = z.string();
const count = z.int().min(0);
/** What the nodes of a cluster ask each other for operators: each a question and its answer. */
export const NODE_QUESTIONS = {
  /** The offices whose home is there that may be seen, and its process where all may be. */
  status: {
    question: z.object({ policy }),
    answer: z.object({
      offices: z.array(officeSchema),
      process: processSchema.exactOptional(),
    }),
  },
  /** The members of an office whose home is there. */
  members: {
    question: z.object({ office }),
    answer: z.array(memberSchema),
  },
  /** The calls on their way in an office whose home is there. */
  calls: {
    question: z.object({ office }),
    answer: z.array(callSchema),
  },
  /** Ends calls; answers how many. */
  cancel: {
    question: cancelSchema.extend({ by, office }),
    answer: count,
  },
  /** Kicks a member, if the home of its office is there; answers how many. */
  kick: {
    question: kickSchema.extend({ by, policy, id: z.string() }),
    answer: count,
  },
  /** Refuses a key; answers how many it knows. */
  revoke: {
    question: revokeSchema.extend({ by }),
    answer: count,
  },
  /** The events there since a cursor, or from now on; waits for the next for a while. */
  events: {
    question: z.object({ cursor: z.string().exactOptional() }),
    answer: z.object({
      cursor: z.string(),
      missed: z.boolean(),
      events: z.array(z.object({
        office: office.exactOptional(),
        kind: z.string(),
        json: z.string(),
      })),
    }),
  },
};

/** A kind of question. */
export type NodeQuestion = keyof typeof NODE_QUESTIONS;

/** The questions of each kind. */
export type Questions = {
  [K in NodeQuestion]: z.output<typeof NODE_QUESTIONS[K]["question"]>;
};

/** The answers of each kind. */
export type Answers = {
  [K in NodeQuestion]: z.output<typeof NODE_QUESTIONS[K]["answer"]>;
};

/** Answers each kind of question; `undefined` is no answer. */
export type Answerers = {
  readonly [K in NodeQuestion]: (
    question: Questions[K],
  ) => Answers[K] | Promise<Answers[K] | undefined>;
};
