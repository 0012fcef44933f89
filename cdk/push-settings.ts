import * as z from 'zod';
import { reference, section, whole } from './setting-values.ts';

const FUNCTION_ARN = /^arn:[\w-]+:lambda:[\w-]+:\d{12}:function:[\w-]{1,64}$/;

/** They lie in the environment of a function, which has room for 4 KB. */
const TARGETS_MAX = 30;
const TARGETS = `a list of up to ${TARGETS_MAX} ARNs of functions`;

/** The settings of pushing, as `PushProps` describes them. */
export const PUSH_SETTINGS = {
  /** The functions that anybody with Manage may name as the target of a consumer. */
  targets: z
    .array(
      reference(
        FUNCTION_ARN,
        'the ARN of a function without a version, such as arn:aws:lambda:eu-west-1:111122223333:function:worker',
      ),
      TARGETS,
    )
    .max(TARGETS_MAX, TARGETS)
    .default([]),
  /** The memory of the function that pushes, MB. It waits for targets most of its time. */
  memoryMb: whole(128, 10_240).default(256),
};

const pushSettings = section(PUSH_SETTINGS);

/** The settings of pushing, complete. */
export type PushSettings = z.infer<typeof pushSettings>;

/** The settings of pushing of a broker; undefined = it does not push. */
export function pushSettingsOf({
  push,
}: {
  readonly push: boolean | PushSettings;
}): PushSettings | undefined {
  if (push === false) return undefined;
  return push === true ? pushSettings.parse({}) : push;
}
