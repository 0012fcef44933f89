import type { PushManagement } from '../broker/ports/management.ts';
import { type LambdaTarget, parseTarget } from '../domain/consumers/target.ts';

const ONLY_LOCAL =
  'Only local servers have targets with an address: name the ARN of a Lambda function.';

/**
 * Accepts the targets of consumers that are made over the API of a stage: the functions with these ARNs, and their
 * versions and aliases. The dispatcher may invoke no others (semantics J4).
 */
export function allowedTargets(arns: readonly string[]): PushManagement {
  const allowed = new Set(arns);
  return {
    allowsTarget: (text) => {
      const target = parseTarget(text);
      if (target.kind === 'local') return ONLY_LOCAL;
      const arn = withoutQualifier(target);
      if (allowed.has(arn)) return undefined;
      return `The target '${arn}' is not one of this namespace: add it to push.targets of the stage and deploy that, or declare the consumer in a stack by queue.addConsumer(fn).`;
    },
  };
}

/**
 * Accepts all functions, for consumers that stacks declare: whoever deploys them may do so, and each function must
 * permit the call itself.
 */
export const ALL_FUNCTIONS: PushManagement = {
  allowsTarget: (text) => (parseTarget(text).kind === 'local' ? ONLY_LOCAL : undefined),
};

function withoutQualifier({ partition, region, account, name }: LambdaTarget): string {
  return `arn:${partition}:lambda:${region}:${account}:function:${name}`;
}
