/** One try of a request. */
export interface NetworkRequest {
  /** The name of the SDK's command, for instance `PutItemCommand`. */
  readonly name: string;
  /** Its marshalled input. */
  readonly input: object;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** The result of a request in the database. A transaction is only prepared; `finish` commits it. */
export type Arrived = { readonly answer: object } | { readonly finish: () => object };

/** Carries requests to the database and answers back. */
export interface Network {
  /**
   * Carries one try to the database and its answer back. Settles when the client gets the answer or an error.
   * Calls `arrive` once, or never, or after the try failed for the client; it throws the database's refusals.
   */
  carry(request: NetworkRequest, arrive: () => Arrived): Promise<object>;
  /** Waits between two tries of the SDK. */
  pause(ms: number): Promise<void>;
  /** A fraction in [0, 1). */
  random(): number;
}

/** The step of the random generator below: the golden ratio, as 32 bits. */
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
