/** The turn of one send among those that must stay in order. */
export interface SendTurn {
  /** Lets the next send begin: this one has joined a group, which keeps it in front of those that join later. */
  readonly joined: () => void;
  /** Resolves when the sends before this one are stored or refused. */
  readonly othersStored: () => Promise<void>;
}

/** The sends of one sender. */
interface Sender {
  /** Resolves when the last of them has joined a group, or has ended. */
  joined: Promise<void>;
  readonly underWay: Set<Promise<unknown>>;
}

/**
 * Keeps sends with one object in the order of the calls, though they are checked one by one and the checks of some take
 * longer: each begins when the one before it has joined a group. One that goes alone waits for those before it, and
 * those behind it wait for it.
 */
export class SendOrder {
  readonly #senders = new WeakMap<object, Sender>();

  /** Runs a send in its turn. */
  async run<Result>(orderedBy: object, send: (turn: SendTurn) => Promise<Result>): Promise<Result> {
    const sender = this.#senders.get(orderedBy) ?? {
      joined: Promise.resolve(),
      underWay: new Set(),
    };
    this.#senders.set(orderedBy, sender);
    const before = sender.joined;
    let joined = () => {};
    sender.joined = new Promise((resolve) => {
      joined = resolve;
    });
    await before;
    const others = [...sender.underWay];
    const othersStored = async () => {
      await Promise.allSettled(others);
    };
    const sending = send({ joined, othersStored });
    sender.underWay.add(sending);
    try {
      return await sending;
    } finally {
      joined();
      sender.underWay.delete(sending);
    }
  }
}
