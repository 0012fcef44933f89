import type { Caller } from '../../client/call.ts';
import { RefusalError } from '../../client/client-errors.ts';
import type { ListedEntity } from '../../client/everything.ts';
import { WRONG_TOKEN } from '../api/check-access.ts';
import type { Right } from './entity.ts';

/** The calls of management in JSON. All throw RefusalError and UnreachableError. */

const JSON_BODY = { 'Content-Type': 'application/json' } as const;

/** An entity or a rule, and the version that was read. */
export interface Versioned<Json> {
  readonly json: Json;
  readonly etag: string | undefined;
}

/** An entity, and what the access may do with it. */
export interface ReachedEntity extends Versioned<ListedEntity> {
  readonly right: Right;
  readonly canSend: boolean;
}

/**
 * Reads an entity. Of one that the access may not manage, only its kind is known, and whether it has sessions. A link
 * may name any path, so what is there may be no entity: then it throws an Error that says so.
 */
export async function getEntity(caller: Caller, path: string): Promise<ReachedEntity> {
  try {
    const { text, header } = await caller.call({ method: 'GET', path });
    return {
      json: entityIn(text, path),
      etag: header('etag'),
      right: 'manage',
      canSend: true,
    };
  } catch (error) {
    if (!isWithoutRight(error)) throw error;
    const [listening, sending] = await Promise.all([infoOf('listen'), infoOf('send')]);
    const known = listening ?? sending;
    if (known === undefined) throw error;
    const right = listening === undefined ? 'send' : 'listen';
    // Only who may send is told whether duplicates are detected.
    const json = { ...known, ...sending };
    return { json, etag: undefined, right, canSend: sending !== undefined };
  }

  async function infoOf(right: keyof typeof INFO_PATHS): Promise<ListedEntity | undefined> {
    try {
      const { text } = await caller.call({
        method: 'GET',
        path: `${path}/messages/${INFO_PATHS[right]}`,
      });
      return entityIn(text, path, { name: path });
    } catch (refusal) {
      // Only a refusal tells that the right is lacking.
      if (!(refusal instanceof RefusalError) || refusal.status >= 500) throw refusal;
      return undefined;
    }
  }
}

const KINDS: ReadonlySet<unknown> = new Set<ListedEntity['kind']>([
  'queue',
  'topic',
  'subscription',
]);

/** Reads the JSON of the entity at a path. `more` = what the JSON does not say. Throws Error. */
function entityIn(text: string, path: string, more: object = {}): ListedEntity {
  const json = { ...parsed(text), ...more } as Partial<ListedEntity>;
  const { kind, name } = json;
  const isAtPath = typeof name === 'string' && name.toLowerCase() === path.toLowerCase();
  if (!KINDS.has(kind) || !isAtPath) throw new Error(`There is no entity '${path}'.`);
  return json as ListedEntity;
}

function parsed(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** What tells something of an entity to an access with this right. */
const INFO_PATHS = { listen: '$receiver', send: '$sender' } as const;

/** Whether a request was refused because the access lacks the right. */
export function isWithoutRight(error: unknown): boolean {
  if (!(error instanceof RefusalError)) return false;
  // The service refuses keys with 401; where IAM decides, API Gateway answers in its place.
  const isRefusedKey = error.status === 401 && !WRONG_TOKEN.test(error.message);
  return isRefusedKey || error.code === 'HTTP 403';
}

/** Creates an entity, or a rule, or a consumer; with `ifMatch` it replaces the version that has this tag. */
export async function put(
  caller: Caller,
  path: string,
  json: Readonly<Record<string, unknown>>,
  ifMatch?: string,
): Promise<void> {
  await putText(caller, path, JSON.stringify(json), ifMatch);
}

/** As `put`, with JSON whose spelling stays. */
export async function putText(
  caller: Caller,
  path: string,
  json: string,
  ifMatch?: string,
): Promise<void> {
  const headers = ifMatch === undefined ? JSON_BODY : { ...JSON_BODY, 'If-Match': ifMatch };
  await caller.call({ method: 'PUT', path, headers, body: json });
}

/** Changes a consumer as it is now; refused if somebody else changes it meanwhile. */
export async function changeConsumer(
  caller: Caller,
  path: string,
  change: (consumer: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): Promise<void> {
  const { text, header } = await caller.call({ method: 'GET', path });
  await put(caller, path, change(JSON.parse(text)), header('etag'));
}

/** Deletes an entity, a rule or a consumer. */
export async function remove(caller: Caller, path: string): Promise<void> {
  await caller.call({ method: 'DELETE', path });
}

/** A rule of a subscription. */
export interface ShownRule extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly sql?: string | { readonly expression: string };
  readonly correlation?: Readonly<Record<string, unknown>>;
  readonly action?: string | { readonly expression: string };
}

/** Reads all rules of a subscription. */
export async function listRules(
  caller: Caller,
  subscription: string,
): Promise<readonly ShownRule[]> {
  const rules: ShownRule[] = [];
  for (;;) {
    const query = { $skip: rules.length, $top: 100 };
    const { text } = await caller.call({ method: 'GET', path: `${subscription}/Rules`, query });
    const page = JSON.parse(text) as {
      readonly rules: readonly ShownRule[];
      readonly next?: string;
    };
    rules.push(...page.rules);
    if (page.next === undefined || page.rules.length === 0) return rules;
  }
}
