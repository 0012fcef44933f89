import { argumentError } from '../broker-error.ts';
import type { RandomSource } from '../clock.ts';
import { LIMITS } from '../limits.ts';
import type { AccessRight, AuthorizationRule } from './descriptions.ts';

/** A shared access policy in a client's request. Absent keys are generated. */
export interface AuthorizationRuleInput {
  readonly keyName: string;
  readonly primaryKey?: string;
  readonly secondaryKey?: string;
  readonly rights: readonly AccessRight[];
}

const KEY_NAME_LENGTH = 256;
const KEY_BYTES = 32;
/** Base64 of 32 bytes (semantics G21). */
const KEY_LENGTH = 44;
const KEY = /^[\x21-\x7e]*$/;

/** All rights, in the order in which they are shown. */
export const ACCESS_RIGHTS = ['Manage', 'Send', 'Listen'] as const satisfies readonly AccessRight[];

/**
 * The policies of an entity after a request that lists them (semantics #153, G21). A policy that existed before
 * keeps its time of creation, and every key that the request leaves out, since a missing key must not invalidate the
 * tokens that were signed with it. `now` = epoch ms. Throws ArgumentError.
 */
export function authorizationRules(
  input: readonly AuthorizationRuleInput[],
  current: readonly AuthorizationRule[],
  now: number,
  random: RandomSource,
): readonly AuthorizationRule[] {
  if (input.length > LIMITS.authorizationRules) {
    throw argumentError(
      `${input.length} authorization rules were given; the limit is ${LIMITS.authorizationRules}.`,
    );
  }
  const names = input.map((rule) => rule.keyName);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw argumentError(`The authorization rule '${twice}' was given twice.`);
  return input.map((rule) => {
    const before = current.find((one) => one.keyName === rule.keyName);
    return authorizationRule(rule, before, now, random);
  });
}

function authorizationRule(
  input: AuthorizationRuleInput,
  before: AuthorizationRule | undefined,
  now: number,
  random: RandomSource,
): AuthorizationRule {
  requireKeyName(input.keyName);
  const rights = impliedRights(input);
  const primaryKey = input.primaryKey ?? before?.primaryKey ?? newKey(random);
  const secondaryKey = input.secondaryKey ?? before?.secondaryKey ?? newKey(random);
  requireKey(input.keyName, primaryKey);
  requireKey(input.keyName, secondaryKey);
  const unchanged =
    before?.primaryKey === primaryKey &&
    before.secondaryKey === secondaryKey &&
    before.rights.join() === rights.join();
  return {
    keyName: input.keyName,
    primaryKey,
    secondaryKey,
    rights,
    createdAt: before?.createdAt ?? now,
    modifiedAt: unchanged ? before.modifiedAt : now,
  };
}

/** Manage includes Send and Listen, since a client with Manage could grant itself both (semantics K4). */
function impliedRights({ keyName, rights }: AuthorizationRuleInput): readonly AccessRight[] {
  if (rights.length === 0)
    throw argumentError(`The authorization rule '${keyName}' gives no right.`);
  return rights.includes('Manage')
    ? ACCESS_RIGHTS
    : ACCESS_RIGHTS.filter((one) => rights.includes(one));
}

function requireKeyName(name: string): void {
  if (name.length >= 1 && name.length <= KEY_NAME_LENGTH) return;
  throw argumentError(
    `The name of an authorization rule is ${name.length} characters long; it may have 1 to ${KEY_NAME_LENGTH}.`,
  );
}

/** The error does not contain the key, since errors are logged. */
function requireKey(keyName: string, key: string): void {
  if (key.length === KEY_LENGTH && KEY.test(key)) return;
  throw argumentError(
    `A key of the authorization rule '${keyName}' is ${key.length} characters long; it must be ${KEY_LENGTH} ASCII characters, the Base64 of ${KEY_BYTES} bytes.`,
  );
}

function newKey(random: RandomSource): string {
  return btoa(String.fromCharCode(...random.bytes(KEY_BYTES)));
}
