import { argumentError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';

/** The name of the rule that every new subscription has; the only name that may begin with `$`. */
export const DEFAULT_RULE_NAME = '$Default';

const RULE_NAME = /^[a-z0-9._-]+$/i;

/** Throws ArgumentError for a name that no rule may have (semantics N6). */
export function requireRuleName(name: string): void {
  const { childNameLength } = LIMITS;
  if (name.length > childNameLength) {
    throw argumentError(
      `The name '${name.slice(0, 60)}' is ${name.length} characters long; the limit is ${childNameLength}.`,
    );
  }
  if (RULE_NAME.test(name) || name.toLowerCase() === DEFAULT_RULE_NAME.toLowerCase()) return;
  throw argumentError(
    `The name '${name}' is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_).`,
  );
}
