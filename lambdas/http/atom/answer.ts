import { entityTag, ruleTag } from '../../../shared/broker/management/if-match.ts';
import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { RuleOf } from '../../../shared/broker/management/rules.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import { isoDate } from '../format/date-text.ts';
import type { ListOptions, ManagementAnswer } from '../management/answer.ts';
import { fittingPage } from '../management/fitting-page.ts';
import { ResourceLinks } from '../management/links.ts';
import {
  type EntryOptions,
  entryDocument,
  type FeedOptions,
  feedDocument,
  innerEntry,
} from './entry.ts';
import { descriptionElement, writeEntity } from './write-entity.ts';
import { writeRule } from './write-rule.ts';
import { element } from './write-xml.ts';

/** Creates the ATOM responses to one request. */
export class AtomAnswer implements ManagementAnswer {
  readonly #links: ResourceLinks;
  readonly #namespace: string;

  constructor(requestUrl: string, namespace: string) {
    this.#links = new ResourceLinks(requestUrl);
    this.#namespace = namespace;
  }

  /** The entry of an entity, with its settings and message counts. */
  entity(report: EntityReport, status: 200 | 201 = 200): Response {
    return entryResponse(this.#entityEntry(report), status, entityTag(report.entity));
  }

  /** The entry of a rule. */
  rule(rule: RuleOf, status: 200 | 201 = 200): Response {
    return entryResponse(this.#ruleEntry(rule), status, ruleTag(rule.stored));
  }

  /** The feed of a page of entities. */
  entities(reports: readonly EntityReport[], list: ListOptions): Response {
    return this.#feed(
      list,
      reports.map((report) => this.#entityEntry(report)),
    );
  }

  /** The feed of a page of rules. */
  rules(rules: readonly RuleOf[], list: ListOptions): Response {
    return this.#feed(
      list,
      rules.map((rule) => this.#ruleEntry(rule)),
    );
  }

  /**
   * The entry of the namespace (semantics G7). Its time of creation is not stored, so it has the epoch's
   * date.
   */
  namespace(tier: Tier): Response {
    const content = descriptionElement('NamespaceInfo', [
      element('CreatedTime', isoDate(0)),
      element('MessagingSKU', tier),
      element('ModifiedTime', isoDate(0)),
      element('Name', this.#namespace),
      element('NamespaceType', 'Messaging'),
    ]);
    return entryResponse(this.#entry('$namespaceinfo', this.#namespace, 0, 0, content), 200);
  }

  /** The empty feed of publicly listed entities, for clients without a token (semantics G8). */
  discovery(now: number): Response {
    const { request: self } = this.#links;
    return feedResponse({ title: 'Publicly Listed Services', self, updatedAt: now, entries: [] });
  }

  #entityEntry(report: EntityReport): EntryOptions {
    const { name, createdAt, updatedAt } = report.entity;
    const title = name.replace(/^.*\/Subscriptions\//, '');
    const content = writeEntity(report, (destination) => this.#links.destination(destination));
    const { isEstimate } = report.messages;
    return {
      ...this.#entry(name, title, createdAt, updatedAt, content),
      ...(isEstimate && { hasEstimates: true }),
    };
  }

  #ruleEntry({ subscription, stored: { rule, updatedAt } }: RuleOf): EntryOptions {
    const path = `${subscription.name}/Rules/${rule.name}`;
    return this.#entry(path, rule.name, rule.createdAt, updatedAt, writeRule(rule));
  }

  #entry(
    path: string,
    title: string,
    publishedAt: number,
    updatedAt: number,
    content: EntryOptions['content'],
  ): EntryOptions {
    const id = this.#links.resource(path);
    return { id, title, author: this.#namespace, publishedAt, updatedAt, content };
  }

  #feed({ title, range, more, now }: ListOptions, entries: readonly EntryOptions[]): Response {
    const fitting = fittingPage(entries, innerEntry, ({ xml }) => xml);
    const isLast = !more && fitting.length === entries.length;
    return feedResponse({
      title,
      self: this.#links.request,
      ...(!isLast && { next: this.#links.page(range.skip + fitting.length) }),
      updatedAt: now,
      entries: fitting,
    });
  }
}

function entryResponse(options: EntryOptions, status: number, tag?: string): Response {
  return new Response(entryDocument(options), {
    status,
    headers: {
      'Content-Type': 'application/atom+xml;type=entry;charset=utf-8',
      ...(tag !== undefined && { ETag: `"${tag}"` }),
    },
  });
}

function feedResponse(options: FeedOptions): Response {
  return new Response(feedDocument(options), {
    headers: { 'Content-Type': 'application/atom+xml;type=feed;charset=utf-8' },
  });
}
