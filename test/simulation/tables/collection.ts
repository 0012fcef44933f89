import type { Item } from './attribute-values.ts';
import { textOrder } from './text-order.ts';

/** An item as one write left it; a version without an item is a deletion. */
export interface Version {
  readonly item: Item | undefined;
  /** 0 where there is no item. */
  readonly bytes: number;
  /** Epoch ms. */
  readonly at: number;
  /** What was there before; forgotten once no read may be so stale. */
  before: Version | undefined;
}

/** A place for an item, with what is or lately was in it. */
export interface Place {
  readonly pk: string;
  readonly sk: string;
  /** The sort key in an order of its own; see `textOrder`. */
  readonly order: string;
  current: Version;
}

/** The version that stood in a place at an instant; undefined = none did yet. */
export function versionAt(place: Place, at: number): Version | undefined {
  let version: Version | undefined = place.current;
  while (version !== undefined && version.at > at) version = version.before;
  return version;
}

/** The items of one partition key, in the order of their sort keys. */
export class Collection {
  readonly pk: string;
  readonly places: Place[] = [];

  constructor(pk: string) {
    this.pk = pk;
  }

  /** The place of a sort key, if there is or lately was an item. */
  find(sk: string): Place | undefined {
    const order = textOrder(sk);
    const place = this.places[this.indexOf(order)];
    return place?.order === order ? place : undefined;
  }

  /** The index of the first place that does not come before an order. */
  indexOf(order: string): number {
    const { places } = this;
    let low = 0;
    let high = places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((places[middle] as Place).order < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Puts a version under a sort key. */
  write(sk: string, version: Version): Place {
    const order = textOrder(sk);
    const index = this.indexOf(order);
    const known = this.places[index];
    if (known?.order === order) {
      version.before = known.current;
      known.current = version;
      return known;
    }
    const place: Place = { pk: this.pk, sk, order, current: version };
    this.places.splice(index, 0, place);
    return place;
  }

  /** Takes a place out that nothing is to be seen of any more. */
  remove(place: Place): void {
    this.places.splice(this.indexOf(place.order), 1);
  }
}
