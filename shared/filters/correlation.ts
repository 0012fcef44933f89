import type { Message } from '../domain/messages/message.ts';
import type { Properties } from '../domain/messages/property-value.ts';
import { isUnknown, orderOf } from './evaluation/values.ts';
import type { FilterInput } from './filter-input.ts';

/** A filter by equality of properties; all conditions must hold (semantics R2). */
export interface CorrelationFilter {
  readonly kind: 'correlation';
  readonly contentType?: string;
  readonly correlationId?: string;
  /** Subject in newer clients. */
  readonly label?: string;
  readonly messageId?: string;
  readonly replyTo?: string;
  readonly replyToSessionId?: string;
  readonly sessionId?: string;
  readonly to?: string;
  /** User properties. */
  readonly properties: Properties;
}

const SYSTEM_CONDITIONS = [
  'contentType',
  'correlationId',
  'label',
  'messageId',
  'replyTo',
  'replyToSessionId',
  'sessionId',
  'to',
] as const satisfies readonly (keyof CorrelationFilter & keyof Message)[];

/** The number of conditions of a filter; a valid filter has at least one (semantics R2). */
export function conditionCount(filter: CorrelationFilter): number {
  const system = SYSTEM_CONDITIONS.filter((name) => filter[name] !== undefined);
  return system.length + Object.keys(filter.properties).length;
}

/**
 * Whether all conditions hold (semantics #114, #115, R2, R3). Texts compare case-sensitively. There is no unknown: a
 * missing or null property does not match. Our own choices: names of user properties are case-insensitive, as
 * in SQL filters; numbers are equal by value whatever their type, because some clients write every number of
 * a filter as a double; types that cannot be compared do not match, without an error.
 */
export function matchesCorrelation(filter: CorrelationFilter, input: FilterInput): boolean {
  for (const name of SYSTEM_CONDITIONS) {
    const wanted = filter[name];
    if (wanted !== undefined && input.message[name] !== wanted) return false;
  }
  for (const [name, wanted] of Object.entries(filter.properties)) {
    const found = input.property(name);
    if (isUnknown(found) || orderOf(found, wanted) !== 0) return false;
  }
  return true;
}
