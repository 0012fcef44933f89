import { BrokerError } from '../domain/broker-error.ts';
import { parseSasToken } from './sas-token-text.ts';

/** A shared access rule whose key has signed a token. */
export interface SigningRule {
  /** The name in the spelling in which it is stored. */
  readonly name: string;
  /** The key of the entity that has the rule; undefined for a rule of the namespace. */
  readonly entity: string | undefined;
}

const NAME_LENGTH_MAX = 256;

/**
 * A unique key of a rule, for rate limits. It includes the entity, since several entities may have rules of
 * the same name; the line break is unambiguous, since no entity's key contains one.
 */
export const uniqueRuleKey = ({ name, entity = '' }: SigningRule): string => `${entity}\n${name}`;

/** The fields of the access log for a rule. */
export const loggedRule = (rule: SigningRule | undefined) => ({
  rule: rule?.name,
  ruleOf: rule?.entity,
});

/**
 * The rule that a token names, for logs only: the name is not covered by the signature, so no decision may
 * depend on it. Undefined if the text is not a token.
 */
export function claimedRuleOf(text: string | null): string | undefined {
  try {
    return boundedName(parseSasToken(text ?? '').keyName);
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

/** Cuts a claimed rule name to the length that a rule name may have. */
export const boundedName = (name: string): string => name.slice(0, NAME_LENGTH_MAX);
