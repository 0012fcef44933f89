import { RefusalError } from './client-errors.ts';
import type { SubQueue } from './entity-path.ts';
import type { NamespaceClient } from './namespace-client.ts';

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
const PAGE = 100;
/** How services answer that know no list of all entities, such as the vendor's. */
const UNKNOWN_STATUSES: readonly number[] = [400, 404, 405, 501];

/** Lists the consumers of a queue, a subscription or a dead-letter queue. */
export async function listConsumers(
  client: NamespaceClient,
  path: string,
): Promise<readonly ShownConsumer[]> {
  const { text } = await client.call({ method: 'GET', path: `${path}/consumers` });
  return (JSON.parse(text) as { readonly consumers: readonly ShownConsumer[] }).consumers;
}

/** Creates or replaces a consumer, and returns it as it is then. `settings` = the members of its JSON. */
export async function putConsumer(
  client: NamespaceClient,
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
export async function removeConsumer(
  client: NamespaceClient,
  path: string,
  name: string,
): Promise<void> {
  await client.call({ method: 'DELETE', path: `${path}/consumers/${name}` });
}

interface Everything {
  readonly entities: readonly {
    readonly name: string;
    readonly consumers?: EntityConsumers['consumers'];
  }[];
  readonly next?: string;
}

/** All entities that have consumers, page by page; none of a service that knows no consumers. */
export async function* allConsumers(client: NamespaceClient): AsyncGenerator<EntityConsumers> {
  for (let after: string | undefined; ; ) {
    const page = await pageAfter(client, after);
    for (const { name, consumers } of page?.entities ?? []) {
      if (consumers !== undefined) yield { entity: name, consumers };
    }
    after = page?.entities.at(-1)?.name;
    if (page?.next === undefined || after === undefined) return;
  }
}

async function pageAfter(
  client: NamespaceClient,
  after: string | undefined,
): Promise<Everything | undefined> {
  try {
    const query = { $top: PAGE, after };
    const { text } = await client.call({ method: 'GET', path: '$entities', query });
    return text.startsWith('{') ? (JSON.parse(text) as Everything) : undefined;
  } catch (error) {
    if (error instanceof RefusalError && UNKNOWN_STATUSES.includes(error.status)) return undefined;
    throw error;
  }
}
