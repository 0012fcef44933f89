import type { EntityWithRules } from '../../../shared/broker/management/everything.ts';
import type { Page } from '../../../shared/broker/ports/entities.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { KB } from '../../../shared/domain/units.ts';
import { printPage } from '../json/answer.ts';
import { consumersJson } from '../json/write-consumer.ts';
import { entityJson } from '../json/write-entity.ts';
import { printRule } from '../json/write-rule.ts';
import type { ManageDependencies } from './dependencies.ts';
import { fittingPage } from './fitting-page.ts';
import { ResourceLinks } from './links.ts';
import { readPageRange } from './request.ts';
import { authorizeFor } from './rights.ts';

/** The rules of one subscription that a page shows, and the bytes of JSON that they take at most. */
const RULES_MAX = LIMITS.listPage;
const RULES_BYTES = 512 * KB;

/**
 * All entities with their counts, rules and consumers, page by page, always in JSON (semantics G28). A page begins
 * after the entity that `after` names, whether it still exists or not, so that entities that come and go do not move
 * others. Its cost does not depend on where it begins: a page of 100 queues reads 101 descriptions, some 15 read
 * units; each topic is a query more, each topic with subscriptions another one for its rules, and if these are many,
 * each subscription one; then the counts. Throws Unauthenticated, ArgumentError.
 */
export async function listEverything(
  dependencies: ManageDependencies,
  request: Request,
): Promise<Response> {
  await authorizeFor('listEverything', dependencies, request);
  const { searchParams } = new URL(request.url);
  const { top } = readPageRange(searchParams, LIMITS.everythingPage);
  const after = readAfter(searchParams);
  const links = new ResourceLinks(request.url);
  const parts = dependencies.management.everything(after, top, RULES_MAX);
  const { printed, next } = await printParts(parts, (item) => printEntity(item, links));
  return new Response(printPage('entities', printed, next && links.pageAfter(next)), {
    headers: { 'Content-Type': 'application/json' },
  });
}

/** As long as less than this is printed, the next part is read while one is printed: it is not read in vain. */
const AHEAD_BYTES = LIMITS.answerBytes / 4;

/**
 * Prints the parts of the list as far as they fit into an answer, the first entity always. `next` = the path after
 * which the next page begins; undefined = this is the last one.
 */
async function printParts(
  parts: AsyncGenerator<Page<EntityWithRules>>,
  print: (item: EntityWithRules) => string,
): Promise<{ readonly printed: readonly string[]; readonly next: string | undefined }> {
  const printed: string[] = [];
  let bytes = 0;
  let last: string | undefined;
  for (let part = await parts.next(); part.done !== true; ) {
    const { items, more } = part.value;
    const ahead = bytes < AHEAD_BYTES ? parts.next() : undefined;
    // Its error is thrown where it is awaited; if that is never, its entities are read with the next page.
    ahead?.catch(() => undefined);
    for (const item of items) {
      const text = print(item);
      bytes += Buffer.byteLength(text);
      if (bytes > LIMITS.answerBytes && last !== undefined) return { printed, next: last };
      printed.push(text);
      last = item.entity.name;
    }
    if (!more) return { printed, next: undefined };
    part = await (ahead ?? parts.next());
  }
  return { printed, next: last };
}

function readAfter(query: URLSearchParams): string | undefined {
  if (query.has('$skip')) {
    throw argumentError(
      "This list has no $skip: call the URL in 'next' of the page before, or name an entity in 'after'.",
    );
  }
  const after = query.get('after') ?? undefined;
  if (after !== undefined && parseEntityPath(after).subQueue !== 'main') {
    throw argumentError(
      "The parameter 'after' must be the path of a queue, topic or subscription.",
    );
  }
  return after;
}

function printEntity({ rules, ...report }: EntityWithRules, links: ResourceLinks): string {
  const printed = fittingPage(rules?.items ?? [], printRule, (text) => text, RULES_BYTES);
  const json = entityJson(report, (name) => links.destination(name));
  const text = JSON.stringify({ ...json, ...consumersJson(report.entity) });
  if (rules === undefined) return text;
  const areAll = !rules.more && printed.length === rules.items.length;
  const more = areAll
    ? ''
    : `,"moreRules":${JSON.stringify(links.resource(`${report.entity.name}/Rules`))}`;
  return `${text.slice(0, -1)},"rules":[${printed.join(',')}]${more}}`;
}
