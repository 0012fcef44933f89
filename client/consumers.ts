import type { Caller } from './call.ts';
import { RefusalError } from './client-errors.ts';
import type { SubQueue } from './entity-path.ts';
import { allEntities } from './everything.ts';

/** The calls on consumers, which speak JSON. All throw RefusalError and UnreachableError. */

/** A consumer as the service shows it. */
export interface ShownConsumer extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly target: string;
}

/** The consumers of an entity with its dead-letter queues. */
export interface EntityConsumers {
  /** The path of the entity. */
  readonly entity: string;
  readonly consumers: readonly (ShownConsumer & { readonly subQueue: SubQueue })[];
}

const JSON_TYPE = 'application/json';
const BODY = { 'Content-Type': JSON_TYPE } as const;
/** How services answer that know no list of all entities, such as the vendor's. */
const UNKNOWN_STATUSES: readonly number[] = [400, 404, 405, 501];

/** Lists the consumers of a queue, a subscription or a dead-letter queue. */
export async function listConsumers(
  client: Caller,
  path: string,
): Promise<readonly ShownConsumer[]> {
  const { text } = await client.call({ method: 'GET', path: `${path}/consumers` });
  return (JSON.parse(text) as { readonly consumers: readonly ShownConsumer[] }).consumers;
}

/** Creates or replaces a consumer, and returns it as it is then. `settings` = the members of its JSON. */
export async function putConsumer(
  client: Caller,
  path: string,
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<{ readonly consumer: ShownConsumer; readonly isNew: boolean }> {
  const { status, text } = await client.call({
    method: 'PUT',
    path: `${path}/consumers/${name}`,
    headers: BODY,
    body: JSON.stringify(settings),
  });
  return { consumer: JSON.parse(text) as ShownConsumer, isNew: status === 201 };
}

/** Deletes a consumer. */
export async function removeConsumer(client: Caller, path: string, name: string): Promise<void> {
  await client.call({ method: 'DELETE', path: `${path}/consumers/${name}` });
}

/** All entities that have consumers, page by page; none of a service that knows no consumers. */
export async function* allConsumers(client: Caller): AsyncGenerator<EntityConsumers> {
  try {
    for await (const page of allEntities(client)) {
      for (const { name, consumers } of page) {
        if (consumers !== undefined) {
          yield { entity: name, consumers: consumers as EntityConsumers['consumers'] };
        }
      }
    }
  } catch (error) {
    // The vendor's service has an ATOM feed there, or nothing.
    const isUnknown = error instanceof RefusalError && UNKNOWN_STATUSES.includes(error.status);
    if (!isUnknown && !(error instanceof SyntaxError)) throw error;
  }
}
