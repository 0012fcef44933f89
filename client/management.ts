import { type AtomEntry, childOf, entryOf, readEntries, textOf, type XmlNode } from './atom-xml.ts';
import type { Caller } from './call.ts';
import type { SubQueue } from './entity-path.ts';

/** The calls of the management interface. All throw RefusalError and UnreachableError. */

const PAGE = 100;
/** Answers in ATOM, and errors in JSON. */
const ACCEPT = { Accept: 'application/atom+xml, application/json;q=0.5' } as const;
const ATOM = { ...ACCEPT, 'Content-Type': 'application/atom+xml' } as const;

/** A queue, topic or subscription, or a rule, with what the service says about it. */
export type Described = AtomEntry;

/** Reads a list page by page: `$Resources/Queues`, `events/Subscriptions`, `…/Rules`. */
export async function* list(client: Caller, path: string): AsyncGenerator<Described> {
  for (let skip = 0; ; skip += PAGE) {
    const { entries, hasMore } = await listPage(client, path, { skip, top: PAGE });
    yield* entries;
    if (!hasMore) return;
  }
}

/** Reads a page of a list: `top` entries after the first `skip`. */
export async function listPage(
  client: Caller,
  path: string,
  { skip, top }: { readonly skip: number; readonly top: number },
): Promise<{ readonly entries: readonly Described[]; readonly hasMore: boolean }> {
  const query = { $skip: skip, $top: top };
  return await readEntries(
    (await client.call({ method: 'GET', path, query, headers: ACCEPT })).text,
  );
}

/** Reads one entity. */
export async function describe(client: Caller, path: string): Promise<Described | undefined> {
  const { entries } = await readEntries(
    (await client.call({ method: 'GET', path, headers: ACCEPT })).text,
  );
  return entries[0];
}

/** Creates an entity or rule, or, with `*`, replaces its settings. `description` = an XML element. */
export async function put(
  client: Caller,
  path: string,
  description: string,
  ifMatch?: '*',
): Promise<void> {
  const headers = ifMatch === undefined ? ATOM : { ...ATOM, 'If-Match': ifMatch };
  await client.call({ method: 'PUT', path, headers, body: entryOf(description) });
}

/** Deletes an entity or a rule. */
export async function remove(client: Caller, path: string): Promise<void> {
  await client.call({ method: 'DELETE', path });
}

/** How many messages the queues of an entity hold. */
export interface Counts extends Readonly<Record<SubQueue, number>> {
  readonly active: number;
  readonly scheduled: number;
  readonly isEstimate: boolean;
}

/** The counts of an entity. `main` = active and scheduled messages together. */
export function countsOf({ description, hasEstimates }: Described): Counts {
  const details = childOf(description, 'CountDetails') ?? {};
  const count = (name: string) => Number(textOf(details, `${name}MessageCount`) ?? 0);
  const [active, scheduled] = [count('Active'), count('Scheduled')];
  return {
    main: active + scheduled,
    active,
    scheduled,
    deadLetter: count('DeadLetter'),
    transferDeadLetter: count('TransferDeadLetter'),
    isEstimate: hasEstimates,
  };
}

/** The kind of filter or action: `SqlFilter`. */
export function typeOf(node: XmlNode | undefined): string {
  return String(node?.['@type'] ?? '');
}
