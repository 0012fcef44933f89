import type { OperationRecord, SettledItem } from '../clients/record.ts';
import { LATE_MS_MAX } from '../machines/network.ts';
import {
  clockSkewMs,
  entityOf,
  isDeadLetterPath,
  type MessageSpec,
  type Scenario,
} from '../scenario/scenario.ts';
import { copiesOf } from './copies.ts';
import type { Copy, Interval } from './copy.ts';
import { Disturbances, wasRecreatedDuring } from './disturbances.ts';
import { deferredPlace, Routes } from './route.ts';
import { heldUntil, mayHaveRemovedMore, mayHaveTakenMore } from './taken.ts';

/**
 * What follows from the answers clients got: for each message, where it certainly was and when; for each
 * path, when operations without an answer may have changed messages. All checks use it.
 */
export class Ledger {
  readonly scenario: Scenario;
  readonly routes: Routes;
  readonly records: readonly OperationRecord[];
  readonly copies: Copy[] = [];
  readonly #byTag = new Map<string, Copy[]>();
  readonly #tagsById = new Map<string, Set<string>>();
  /** The largest skew between two clocks, ms. */
  readonly #skewMs: number;
  readonly #disturbances = new Disturbances();
  readonly #sessionHolds = new Map<string, Interval[]>();

  constructor(scenario: Scenario, records: readonly OperationRecord[]) {
    this.scenario = scenario;
    this.routes = new Routes(scenario.entities);
    this.#skewMs = clockSkewMs(scenario);
    this.records = [...records].sort((a, b) => a.end - b.end || a.number - b.number);
    for (const record of this.records) this.#recordSends(record);
    for (const record of this.records) this.#record(record);
  }

  /** The tags of all messages that were sent to the entity with the id of this one. */
  withSameId(copy: Copy): ReadonlySet<string> {
    return this.#tagsById.get(this.routes.idOf(copy.to, copy.message)) ?? new Set();
  }

  /** The copies of a message; at most one at each place. */
  ofTag(tag: string): readonly Copy[] {
    return this.#byTag.get(tag) ?? [];
  }

  /**
   * The tags of the messages that an operation may have named by sequence number. A duplicate has the number
   * of its original, and an entity that is recreated meanwhile reuses numbers.
   */
  named(record: OperationRecord): ReadonlySet<string> {
    const { tags = [], action } = record;
    const all = new Set(tags);
    for (const copy of tags.flatMap((tag) => this.ofTag(tag))) {
      for (const tag of this.withSameId(copy)) all.add(tag);
    }
    const path = 'from' in action ? action.from : 'to' in action ? action.to : undefined;
    if (path === undefined || !wasRecreatedDuring(this.records, record, entityOf(path))) return all;
    for (const { to, end, tag } of this.copies) {
      if (to === entityOf(path) || end === entityOf(path)) all.add(tag);
    }
    return all;
  }

  /** The copy of a message that a delivery from a path belongs to. */
  at(tag: string, path: string): Copy | undefined {
    const entity = entityOf(path);
    return this.ofTag(tag).find(({ to, end }) => to === entity || this.routes.passes(end, entity));
  }

  /** Whether a copy was certainly available at a path all the time between two instants. */
  wasAvailable(copy: Copy, path: string, from: number, to: number): boolean {
    if (!isDeadLetterPath(path) && to >= copy.expiresFrom) return false;
    return copy.isFree(path, from, to) && !this.#disturbances.isAny(path, from, to);
  }

  /** Whether an operation without an answer may have removed messages where the copy was or could go. */
  mayHaveBeenRemoved({ end }: Copy): boolean {
    return this.routes
      .queues(end)
      .flatMap((queue) => [queue, this.routes.deadLetters(queue)])
      .some((place) => this.#disturbances.isPermanent(place));
  }

  #recordSends(record: OperationRecord): void {
    const { action } = record;
    if (action.kind === 'send') {
      for (const message of action.messages) this.#recordSend(record, action.to, message);
    } else if (action.kind === 'transact') {
      for (const { to, messages } of action.sends) {
        for (const message of messages) this.#recordSend(record, to, message);
      }
    }
  }

  #recordSend(record: OperationRecord, to: string, message: MessageSpec): void {
    const id = this.routes.idOf(to, message);
    const sameId = this.#tagsById.get(id);
    if (sameId === undefined) this.#tagsById.set(id, new Set([message.tag]));
    else sameId.add(message.tag);
    for (const copy of copiesOf(this.routes, { record, to, message, skewMs: this.#skewMs })) {
      this.copies.push(copy);
      const known = this.#byTag.get(message.tag);
      if (known === undefined) this.#byTag.set(message.tag, [copy]);
      else known.push(copy);
    }
  }

  #record(record: OperationRecord): void {
    const { action } = record;
    this.#recordDeliveries(record);
    for (const item of record.settled ?? []) this.#recordSettled(record, item);
    const isRefused = record.outcome === 'refused';
    switch (action.kind) {
      case 'receive':
        this.#recordReceive(record, action.from, action.mode === 'receiveAndDelete');
        break;
      case 'receiveDeferred':
        if (record.outcome !== 'done') this.#markUncertain(record, action.from);
        break;
      case 'accept':
        this.#recordAccept(record);
        break;
      case 'cancel':
        this.#markUncertain(record, action.to, true);
        break;
      case 'operate':
        if (!isRefused) this.#markUncertain(record, action.from, action.what === 'delete');
        break;
      case 'deleteMessages':
      case 'purge':
        if (!isRefused) this.#clear(record, [action.from, deferredPlace(action.from)], action.kind);
        break;
      case 'recreate': {
        const { entity } = action;
        const places = [entity, deferredPlace(entity), this.routes.deadLetters(entity)];
        this.#clear(record, places, action.kind);
        break;
      }
      case 'resubmit':
        this.#clear(record, [action.from], undefined);
        break;
      case 'update':
        this.#disturbances.add(action.entity, record.start, record.end);
        break;
      default:
    }
  }

  #recordDeliveries(record: OperationRecord): void {
    for (const delivery of record.deliveries ?? []) {
      const copy = this.at(delivery.tag, delivery.path);
      if (copy === undefined) continue;
      copy.deliveries.push({ delivery, record });
      const isFirstQueue = copy.end === copy.to || this.routes.entity(copy.to)?.kind === 'topic';
      if (isFirstQueue && delivery.path === copy.end) copy.sequenceNumber = delivery.sequenceNumber;
      const place = delivery.isDeferred ? deferredPlace(delivery.path) : delivery.path;
      copy.mark(record, place);
      if (delivery.lockToken === undefined) {
        copy.markUncertain(record.start, Number.POSITIVE_INFINITY);
        continue;
      }
      const hold = { from: record.start, to: (delivery.lockedUntil ?? 0) + this.#skewMs };
      copy.hold(hold);
      this.#holdsOf.set(delivery.id, hold);
      const { session } = delivery;
      if (session !== undefined) {
        hold.to = Number.POSITIVE_INFINITY;
        const key = `${delivery.path}/${session.sessionId}`;
        this.#sessionHolds.set(key, [...(this.#sessionHolds.get(key) ?? []), hold]);
      }
      const entity = this.routes.entity(entityOf(delivery.path));
      const max = entity === undefined || entity.kind === 'topic' ? 1 : entity.maxDeliveryCount;
      // After its last delivery the next operation that reads it dead-letters it.
      if (!isDeadLetterPath(delivery.path) && delivery.failedDeliveries + 1 >= max) {
        copy.markUncertain(record.start, record.end);
      }
    }
  }

  readonly #holdsOf = new Map<number, Interval>();

  #recordSettled(record: OperationRecord, item: SettledItem): void {
    const { delivery, how, outcome } = item;
    const copy = this.at(delivery.tag, delivery.path);
    if (copy === undefined) return;
    copy.settlements.push({ item, record });
    const hold = this.#holdsOf.get(delivery.id);
    const late = record.end + LATE_MS_MAX;
    if (outcome === 'refused') return;
    if (how === 'renew') {
      const lockMs = 300_000;
      const until = item.lockedUntil ?? record.end + lockMs;
      if (hold !== undefined) hold.to = Math.max(hold.to, until + this.#skewMs);
      return;
    }
    if (outcome === 'unknown') {
      copy.markUncertain(record.start, late);
      if (hold !== undefined) hold.to = Math.max(hold.to, late);
      if (how === 'complete') copy.mayBeGone.add('an unanswered completion');
      return;
    }
    if (how === 'complete') {
      copy.markUncertain(record.start, Number.POSITIVE_INFINITY);
      return;
    }
    if (hold !== undefined) hold.to = record.end + (item.delayMs ?? 0) + this.#skewMs;
    if (how === 'abandon') {
      const place = delivery.isDeferred ? deferredPlace(delivery.path) : delivery.path;
      const isExhausted = this.#isLastDelivery(delivery.path, delivery.failedDeliveries);
      if (!isExhausted) copy.mark(record, place);
      return;
    }
    copy.markUncertain(record.start, record.start - 1);
    if (how === 'defer') {
      copy.mark(record, deferredPlace(delivery.path));
      return;
    }
    const place = this.routes.deadLetters(entityOf(delivery.path));
    if (isDeadLetterPath(place)) copy.mark(record, place);
    else copy.markUncertain(record.start, late);
  }

  #isLastDelivery(path: string, failedDeliveries: number): boolean {
    const entity = this.routes.entity(entityOf(path));
    if (entity === undefined || entity.kind === 'topic' || isDeadLetterPath(path)) return false;
    return failedDeliveries + 1 >= entity.maxDeliveryCount;
  }

  /** A receive without an answer may have locked or removed any message at its path. */
  #recordReceive(record: OperationRecord, path: string, removes: boolean): void {
    const putBackBy = heldUntil(this.scenario, record);
    if (putBackBy !== undefined) this.#disturbances.add(path, record.start, putBackBy);
    if (!mayHaveTakenMore(this.scenario, record)) return;
    const isPermanent = removes && mayHaveRemovedMore(this.scenario, record);
    const entity = this.routes.entity(entityOf(path));
    const lockMs = entity === undefined || entity.kind === 'topic' ? 0 : entity.lockMs;
    const until = record.end + LATE_MS_MAX + lockMs + this.#skewMs;
    this.#disturbances.add(path, record.start, isPermanent ? Number.POSITIVE_INFINITY : until);
    for (const copy of this.copies) {
      // It may have reached the maximum delivery count by then.
      if (this.routes.passes(copy.end, entityOf(path))) copy.markUncertain(record.start, until);
    }
  }

  /** The new holder of a session can receive what earlier holders had locked. */
  #recordAccept(record: OperationRecord): void {
    const { action, granted } = record;
    if (action.kind !== 'accept') return;
    if (granted === undefined) {
      if (record.outcome === 'unknown') {
        const until = record.end + LATE_MS_MAX + 300_000;
        this.#disturbances.add(action.from, record.start, until);
      }
      return;
    }
    const key = `${granted.path}/${granted.sessionId}`;
    for (const hold of this.#sessionHolds.get(key) ?? []) hold.to = Math.min(hold.to, record.end);
    this.#sessionHolds.delete(key);
  }

  /** An operation may have changed the messages it named. */
  #markUncertain(record: OperationRecord, path: string, removes = false): void {
    for (const tag of this.named(record)) {
      for (const copy of this.ofTag(tag)) {
        if (copy.to !== entityOf(path) && copy.end !== entityOf(path)) continue;
        copy.markUncertain(record.start, record.end + LATE_MS_MAX);
        if (removes) copy.mayBeGone.add(record.action.kind);
        else if (record.action.kind === 'receiveDeferred')
          copy.mayBeGone.add('an unanswered receive');
      }
    }
  }

  /** All messages at these places may be removed or moved. */
  #clear(record: OperationRecord, places: readonly string[], why: string | undefined): void {
    const entities = new Set(places.map(entityOf).map((place) => place.replace(/#.*/, '')));
    for (const copy of this.copies) {
      // If the entity was deleted and not created again, later messages do not exist either.
      const mayBeDeleted = why === 'recreate' && record.outcome !== 'done';
      const until = record.end + (record.outcome === 'done' ? 0 : LATE_MS_MAX);
      if (copy.sent.start > until && !mayBeDeleted) continue;
      const deadLetters = this.routes.deadLetters(copy.end);
      if (!entities.has(copy.end) && !entities.has(entityOf(deadLetters))) continue;
      copy.markUncertain(record.start, Number.POSITIVE_INFINITY);
      if (why !== undefined) copy.mayBeGone.add(why);
    }
    for (const place of places)
      this.#disturbances.add(place, record.start, record.end + LATE_MS_MAX);
  }
}
