import type {
  Confirm,
  ConfirmAnswer,
  Confirmed,
  ConfirmRequest,
} from "../../../computer/mod.ts";

/** A question to a person, who answers when the test does. */
export interface AskedOnce {
  readonly request: ConfirmRequest;
  /** Withdraws it. */
  readonly signal: AbortSignal;
  /** Answers it. */
  say(answer: ConfirmAnswer | Confirmed): void;
}

/** A person who is asked any number of times, and says nothing before the test does. */
export interface SlowPerson {
  readonly confirm: Confirm;
  /** How often they were asked. */
  readonly count: number;
  /** Resolves with the question of this number, once it is asked; the first is 0. */
  asked(at?: number): Promise<AskedOnce>;
}

/** Makes one. */
export function slowPerson(): SlowPerson {
  const questions: AskedOnce[] = [];
  let wake = Promise.withResolvers<void>();
  return {
    confirm: (request, signal) =>
      new Promise((say) => {
        questions.push({ request, signal, say });
        wake.resolve();
        wake = Promise.withResolvers();
      }),
    get count() {
      return questions.length;
    },
    async asked(at = 0) {
      for (;;) {
        const question = questions[at];
        if (question) return question;
        await wake.promise;
      }
    },
  };
}
