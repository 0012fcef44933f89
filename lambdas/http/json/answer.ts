import { entityTag, ruleTag } from '../../../shared/broker/management/if-match.ts';
import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { RuleOf } from '../../../shared/broker/management/rules.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import type { ListOptions, ManagementAnswer } from '../management/answer.ts';
import { fittingPage } from '../management/fitting-page.ts';
import { ResourceLinks } from '../management/links.ts';
import { entityJson } from './write-entity.ts';
import { printRule } from './write-rule.ts';

/** Creates the JSON responses to one request (semantics G25, G27). */
export class JsonAnswer implements ManagementAnswer {
  readonly #links: ResourceLinks;
  readonly #namespace: string;

  constructor(requestUrl: string, namespace: string) {
    this.#links = new ResourceLinks(requestUrl);
    this.#namespace = namespace;
  }

  entity(report: EntityReport, status: 200 | 201 = 200): Response {
    return jsonResponse(this.#print(report), status, entityTag(report.entity));
  }

  rule({ stored }: RuleOf, status: 200 | 201 = 200): Response {
    return jsonResponse(printRule(stored), status, ruleTag(stored));
  }

  entities(reports: readonly EntityReport[], list: ListOptions): Response {
    return this.#page('entities', reports, list, (report) => this.#print(report));
  }

  rules(rules: readonly RuleOf[], list: ListOptions): Response {
    return this.#page('rules', rules, list, ({ stored }) => printRule(stored));
  }

  namespace(tier: Tier): Response {
    return jsonResponse(JSON.stringify({ name: this.#namespace, messagingSku: tier }), 200);
  }

  #page<Item>(
    name: string,
    items: readonly Item[],
    { range, more }: ListOptions,
    print: (item: Item) => string,
  ): Response {
    const printed = fittingPage(items, print, (text) => text);
    const isLast = !more && printed.length === items.length;
    const next = isLast ? undefined : this.#links.page(range.skip + printed.length);
    return jsonResponse(printPage(name, printed, next), 200);
  }

  #print(report: EntityReport): string {
    return JSON.stringify(entityJson(report, (name) => this.#links.destination(name)));
  }
}

/** Prints a page of a list. `name` = that of the list; `next` = the URL of the next page, absent on the last one. */
export function printPage(
  name: string,
  printed: readonly string[],
  next: string | undefined,
): string {
  const link = next === undefined ? '' : `,"next":${JSON.stringify(next)}`;
  return `{"${name}":[${printed.join(',')}]${link}}`;
}

function jsonResponse(text: string, status: number, tag?: string): Response {
  return new Response(text, {
    status,
    headers: {
      'Content-Type': 'application/json',
      ...(tag !== undefined && { ETag: `"${tag}"` }),
    },
  });
}
