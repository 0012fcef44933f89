import type { Item } from './attribute-values.ts';
import { textOrder } from './text-order.ts';

/** The state of an item after one write; a version without an item is a deletion. */
export interface Version {
  readonly item: Item | undefined;
  /** 0 where there is no item. */
  readonly bytes: number;
  /** Epoch ms. */
  readonly at: number;
  /** The previous version; dropped once no read may be that stale. */
  before: Version | undefined;
}

/** An item of a collection with its recent versions. */
export interface ItemHistory {
  readonly pk: string;
  readonly sk: string;
  /** The sort key converted by `textOrder`. */
  readonly order: string;
  current: Version;
}

/** The version that was current at an instant; undefined = there was no item yet. */
export function versionAt(history: ItemHistory, at: number): Version | undefined {
  let version: Version | undefined = history.current;
  while (version !== undefined && version.at > at) version = version.before;
  return version;
}

/** The items of one partition key, in the order of their sort keys. */
export class Collection {
  readonly pk: string;
  readonly histories: ItemHistory[] = [];

  constructor(pk: string) {
    this.pk = pk;
  }

  /** The item under a sort key; undefined = there is none, and was none recently. */
  find(sk: string): ItemHistory | undefined {
    const order = textOrder(sk);
    const history = this.histories[this.indexOf(order)];
    return history?.order === order ? history : undefined;
  }

  /** The index of the first item at or after an order. */
  indexOf(order: string): number {
    const { histories } = this;
    let low = 0;
    let high = histories.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((histories[middle] as ItemHistory).order < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Makes a version the current one under a sort key. */
  write(sk: string, version: Version): ItemHistory {
    const order = textOrder(sk);
    const index = this.indexOf(order);
    const known = this.histories[index];
    if (known?.order === order) {
      version.before = known.current;
      known.current = version;
      return known;
    }
    const history: ItemHistory = { pk: this.pk, sk, order, current: version };
    this.histories.splice(index, 0, history);
    return history;
  }

  /** Removes an item that no read can show any more. */
  remove(history: ItemHistory): void {
    this.histories.splice(this.indexOf(history.order), 1);
  }
}
