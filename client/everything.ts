import type { Caller } from './call.ts';

/** An entity of the list of all entities, as its JSON says it. */
export interface ListedEntity extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly kind: 'queue' | 'topic' | 'subscription';
}

/** The first page is small, so that there is something to show soon; the others are as large as the service allows. */
const FIRST_PAGE = 100;
const PAGE = 1000;

/** A page of the list. */
interface EntityPage {
  readonly entities: readonly ListedEntity[];
  readonly next?: string;
}

/**
 * Reads all queues and topics with their subscriptions, page by page; the next page is on its way while one is used.
 * Throws RefusalError and UnreachableError.
 */
export async function* allEntities(caller: Caller): AsyncGenerator<readonly ListedEntity[]> {
  let reading: Promise<EntityPage> | undefined = readPage(caller, FIRST_PAGE);
  while (reading !== undefined) {
    const { entities, next }: EntityPage = await reading;
    const after: string | undefined = entities.at(-1)?.name;
    reading = next === undefined || after === undefined ? undefined : readPage(caller, PAGE, after);
    // Its error is thrown when its turn comes, or is of no interest any more.
    reading?.catch(() => undefined);
    yield entities;
  }
}

async function readPage(caller: Caller, top: number, after?: string): Promise<EntityPage> {
  const query = { $top: top, after };
  const { text } = await caller.call({ method: 'GET', path: '$entities', query });
  return JSON.parse(text) as EntityPage;
}
