import { KB, MB, MINUTE_MS } from '../units.ts';

/** One connection over AMQP. A right is proved by a token or key that a rule has signed. */
export const CONNECTION_BUDGETS = {
  beforeRight: {
    sessions: 16,
    links: 16,
    /** What is kept of links and sessions, and of messages on their way in and out. */
    heldBytes: 512 * KB,
    /** One request to `$cbs` or `$management`. */
    requestBytes: 64 * KB,
    /** Values in one such request. */
    requestValues: 1000,
    /** Frames that are handled before others have their turn. */
    turnFrames: 20,
    /** How long frames of all such connections together are handled in one turn of the event loop, ms. */
    turnMs: 3,
  },
  afterRight: {
    sessions: 5000,
    links: 20_000,
    heldBytes: 128 * MB,
    requestBytes: 2 * MB,
    requestValues: 50_000,
    turnFrames: 200,
    turnMs: 6,
  },
  /** How long a client may take to prove a right, ms. */
  proveRightMs: 60_000,
  /** How long a client may take to its first bytes, within TLS, and from there to the open, ms. */
  firstBytesMs: 30_000,
  handshakeMs: 30_000,
  /** One frame once the connection is open, told in the open. */
  frameBytes: 64 * KB,
  /** What a client says of itself at the start, with its name and key where it has them. */
  proofBytes: 2 * KB,
  /** Characters of the host that it names. */
  hostLength: 512,
  /** Characters of a link's name, and of an address: entities' have up to 400, some clients add a hundred. */
  linkTextLength: 1 * KB,
  /** One frame before the connection is open: a choice of a mechanism, an open. */
  openFrameBytes: 8 * KB,
  /** Values in one performative, which clients write with fewer than a hundred. */
  performativeValues: 1000,
  /** Links of one session, told in the begin. */
  sessionLinks: 1024,
  /** Messages that came in and have no outcome: with more, nothing is read. */
  incomingBytes: 4 * MB,
  /** The same where the process has little room left. */
  incomingBytesMin: 64 * KB,
  /** The part of the process's free room that these messages of one connection may take. */
  incomingShareOfFree: 0.25,
  /** What open transactions hold. */
  transactionBytes: 16 * MB,
  /** Transactions that are open, and operations of one; the broker's own limits are lower. */
  transactions: 100,
  transactionOperations: 1000,
  /** How long a transaction may be open, from its declaration on, ms. */
  transactionMs: 2 * MINUTE_MS,
  /** One request to the coordinator. */
  transactionRequestBytes: 4 * KB,
  /** What the peer has not taken: with more, nothing is read. */
  untakenBytes: 16 * MB,
  /** Messages and ends of links of one session that wait for the peer to open its window. */
  waitingForWindow: 100_000,
  /** Answers of `$cbs` and `$management` on one link that wait for credit; the oldest makes room. */
  waitingAnswers: 500,
  /** Requests that read messages, before it shows how large those are. */
  reads: {
    /** What all of them may read at a time; one alone may read more. */
    bytes: 32 * MB,
    /** Memory for each byte, with the copies that are made until it is answered. */
    heldPerByte: 3,
    /** As much of what the process may hold counts for one that may read more. */
    shareOfProcess: 0.25,
  },
  /** Requests, and looks for sessions, that ask the database at a time; the others wait. */
  worksAtOnce: 8,
  /** Claims of what was found for its links that begin in one turn of the event loop. */
  turnClaims: 1,
  /** What requests and settlements take that are under way: of what the process may hold, for one connection. */
  workShareOfProcess: 0.25,
  /** So much of it is held in any case, about as much as the connection itself: few small ones are never refused. */
  workBytesAnyway: 16 * KB,
  /** What may come in after the close before the connection is cut. */
  ignoredBytes: 16 * MB,
  /** AMQP's own parts of messages that are written before others have their turn. */
  turnBytes: 128 * KB,
  /** What a message counts as besides, however small it is. */
  turnMessageBytes: 512,
  /** The same for each of its application properties. */
  turnPropertyBytes: 32,
  /** Bytes of a frame's performative, as they are decoded, that count as much as a frame. */
  decodedBytesPerFrame: 4 * KB,
  /** Deliveries looked through, or taken in, for a disposition that count as much as a frame. */
  deliveriesPerFrame: 100,
  /** Deliveries whose outcomes the broker carries out at a time; those of one call more may be. */
  settlementsAtOnce: 2000,
  /** Bytes of a request to `$cbs` or `$management` that count as much as a frame: each may be a value. */
  requestBytesPerFrame: 1 * KB,
  /** A request that is longer has a turn of its own to be read. */
  turnRequestBytes: 4 * KB,
  /** Messages and requests that are not so long: what is read of them in a turn, of all connections with a right. */
  turnReadBytes: 64 * KB,
  /** Parts of messages that are sent before others have their turn, and their bytes. */
  turnParts: 1000,
  turnPartBytes: 1 * MB,
  /** What the peer has not taken yet: with more, nothing is claimed for it, and no part is sent. */
  backlogBytes: 8 * MB,
  /** What claims that are under way for one connection may bring, and what one message counts as. */
  claimBytes: 24 * MB,
  claimedMessageBytes: 256 * KB,
  /** A claim that brings a large message: memory for each byte, and the most that counts of the process's. */
  largeClaim: { heldPerByte: 4, shareOfProcess: 0.6 },
  /** Tokens that are kept, of all together. The one that was put longest ago makes room. */
  tokens: 2000,
  tokenBytes: 1 * MB,
  /** Tokens and keys that were refused, over AMQP or HTTP: then the connection is closed. */
  refusals: 20,
  /** So many are answered at once, the others after a pause, ms. */
  refusalsAtOnce: 5,
  refusalPauseMs: 200,
} as const;
