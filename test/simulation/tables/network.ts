/** One try of a request. */
export interface NetworkRequest {
  /** The name of the SDK's command, `PutItemCommand` for instance. */
  readonly name: string;
  /** Its marshalled input. */
  readonly input: object;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** What the database did with a request. A transaction is only prepared; `finish` commits it. */
export type Arrived = { readonly answer: object } | { readonly finish: () => object };

/** Carries requests to the database, and answers back. */
export interface Network {
  /**
   * Carries one try to the database and its answer back. Settles when and as the client hears of it. Calls
   * `arrive` once, or never, or after the try has failed for the client. `arrive` throws the database's refusals.
   */
  carry(request: NetworkRequest, arrive: () => Arrived): Promise<object>;
  /** Waits between two tries of the SDK. */
  pause(ms: number): Promise<void>;
  /** A fraction in [0, 1). */
  random(): number;
}

/** The generator below adds this for each number: the golden ratio, as 32 bits. */
const STEP = 0x9e3779b9;
const RANGE = 2 ** 32;
let drawn = 0;

/** A network without delay or loss. */
export const directNetwork: Network = {
  carry: async (_, arrive) => {
    const arrived = arrive();
    return 'answer' in arrived ? arrived.answer : arrived.finish();
  },
  pause: async () => {},
  random: () => {
    drawn = (drawn + STEP) >>> 0;
    return drawn / RANGE;
  },
};
