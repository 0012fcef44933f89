import { BrokerError } from '../domain/broker-error.ts';
import { parseSasToken } from './sas-token-text.ts';

/** A rule of shared access signatures whose key has signed a token. */
export interface ProvedRule {
  /** As it is stored. */
  readonly name: string;
  /** The key of the entity whose rule it is; undefined for a rule of the namespace. */
  readonly entity: string | undefined;
}

const NAME_LENGTH_MAX = 256;

/** Tells a rule from all others: names recur at entities, and no entity's key holds a line break. */
export const keyOfRule = ({ name, entity = '' }: ProvedRule): string => `${entity}\n${name}`;

/** What the access log says of a rule. */
export const loggedRule = (rule: ProvedRule | undefined) => ({
  rule: rule?.name,
  ruleOf: rule?.entity,
});

/** The rule that a token names, which nothing is decided by; undefined where no token can be read. */
export function claimedRuleOf(text: string | null): string | undefined {
  try {
    return boundedName(parseSasToken(text ?? '').keyName);
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

/** No rule has a longer name. */
export const boundedName = (name: string): string => name.slice(0, NAME_LENGTH_MAX);
