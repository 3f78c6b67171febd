// What the compiler knows about an answer.

import type { operations } from "./schema";

type Answers = operations["update_user_group"]["responses"];
type Body<Status extends keyof Answers> = Answers[Status]["content"]["application/json"];

export function describe(answer: Body<200> | Body<400> | Body<404>): string {
  if (answer.success === 1) {
    const environment: "Customer" | "Testing" | null = answer.user_group.api_environment_tag;
    return environment ?? "none";
  }
  if (answer.type === "validation_error") {
    const invalid: Body<400> = answer;
    return invalid.errors.map((problem) => problem.attr ?? problem.code).join();
  }
  // @ts-expect-error: the operation has no error with this code
  if (answer.errors[0]?.code === "bookmark_not_found") return "";
  return "";
}

export function code(failure: Body<404>): "user_group_not_found" | undefined {
  return failure.errors[0]?.code;
}
