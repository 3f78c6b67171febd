// What the compiler knows about an answer.

import type { operations } from "./schema";

type Answers = operations["update_user_group"]["responses"];
type Body<Status extends keyof Answers> = Answers[Status]["content"]["application/json"];

export function describe(answer: Body<200> | Body<400> | Body<404>): string {
  if (answer.success === 1) {
    const environment: "Customer" | "Testing" | null = answer.user_group.api_environment_tag;
    return environment ?? "none";
  }
  // @ts-expect-error: no operation has an error with this code
  if (answer.errors[0]?.code === "out_of_coffee") return "";
  return answer.errors.map((problem) => problem.attr ?? problem.code).join();
}
