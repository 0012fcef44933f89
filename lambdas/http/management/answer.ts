import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { RuleOf } from '../../../shared/broker/management/rules.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import type { PageRange } from './links.ts';

/** Creates the responses to one management request, in one of two forms: ATOM or JSON. */
export interface ManagementAnswer {
  /** An entity, with its settings and message counts. */
  entity(report: EntityReport, status?: 200 | 201): Response;
  /** A rule. */
  rule(rule: RuleOf, status?: 200 | 201): Response;
  /** A page of entities. */
  entities(reports: readonly EntityReport[], list: ListOptions): Response;
  /** A page of rules. */
  rules(rules: readonly RuleOf[], list: ListOptions): Response;
  /** The namespace (semantics G7). */
  namespace(tier: Tier): Response;
}

/** The page of a list that an answer contains. */
export interface ListOptions {
  readonly title: 'Queues' | 'Topics' | 'Subscriptions' | 'Rules';
  readonly range: PageRange;
  /** Whether entries follow this page. */
  readonly more: boolean;
  /** Epoch ms. */
  readonly now: number;
}
