import { KB, MB, MINUTE_MS } from '../units.ts';

/**
 * Bounds of one AMQP connection, before the client is authorized and after (see `BUDGETS`). Sizes in bytes,
 * unless the name says otherwise.
 */
export const CONNECTION_BUDGETS = {
  unauthorized: {
    sessions: 16,
    links: 16,
    /** Memory of links, sessions, and messages on their way in and out. */
    heldBytes: 512 * KB,
    /** One request to `$cbs` or `$management`. */
    requestBytes: 64 * KB,
    /** Values in one such request. */
    requestValues: 1000,
    /** Frames of one connection that are handled in one turn of the event loop. */
    turnFrames: 20,
    /** Time for the frames of all such connections together in one turn, ms. */
    turnMs: 3,
  },
  authorized: {
    sessions: 5000,
    links: 20_000,
    heldBytes: 128 * MB,
    requestBytes: 2 * MB,
    requestValues: 50_000,
    turnFrames: 200,
    turnMs: 6,
  },
  /** Time in which a client must become authorized, ms. */
  authorizeMs: 60_000,
  /** Time from the connection until the client's first bytes, within TLS, ms. */
  firstBytesMs: 30_000,
  /** Time from the first bytes until the client's open, ms. */
  handshakeMs: 30_000,
  /** One frame after the open; our open announces this size. */
  frameBytes: 64 * KB,
  /** The SASL init of a client, with its user name and key if it has them. */
  saslInitBytes: 2 * KB,
  /** Characters of the host name in SASL init and open. */
  hostLength: 512,
  /** Characters of a link name, and of an address: entities' have up to 400, some clients add a hundred. */
  linkTextLength: 1 * KB,
  /** One frame before the connection is open: the SASL init, or the open. */
  openFrameBytes: 8 * KB,
  /** Values in one performative; clients write fewer than a hundred. */
  performativeValues: 1000,
  /** Links of one session; our begin announces this number. */
  sessionLinks: 1024,
  /** Received messages without an outcome: with more, the connection is not read. */
  incomingBytes: 4 * MB,
  /** Received messages without an outcome that are read even if the process has little free memory. */
  incomingBytesMin: 64 * KB,
  /** Fraction of the process's free memory that a connection's received messages without an outcome may take. */
  incomingShareOfFree: 0.25,
  /** Memory of open transactions (semantics U17). */
  transactionBytes: 16 * MB,
  /** Open transactions (semantics U17). */
  transactions: 100,
  /** Operations of one open transaction; the broker's own limit is lower. */
  transactionOperations: 1000,
  /** Time that a transaction may be open, from its declaration on, ms (semantics #131). */
  transactionMs: 2 * MINUTE_MS,
  /** One request to the coordinator. */
  transactionRequestBytes: 4 * KB,
  /** Output that the peer has not read: with more, the connection is not read. */
  untakenBytes: 16 * MB,
  /** Transfers and detaches of one session that wait for the peer to open its window. */
  waitingForWindow: 100_000,
  /**
   * Answers of `$cbs` and `$management` on one link that wait for credit; with more, the oldest is dropped.
   */
  waitingAnswers: 500,
  /** Requests that read messages, until the size of the messages is known. */
  reads: {
    /** Bytes that all of them may read at a time; a single request may read more. */
    bytes: 32 * MB,
    /** Memory for each byte, with the copies that are made until the answer is sent. */
    heldPerByte: 3,
    /** Fraction of the process's limit that a request counts as if it may read more. */
    shareOfProcess: 0.25,
  },
  /** Requests and session accepts that use the database at a time; others wait. */
  workSlots: 8,
  /** Claims of messages that were found for its links that begin in one turn of the event loop. */
  turnClaims: 1,
  /** Fraction of the process's limit that running requests and settlements of one connection may take. */
  workShareOfProcess: 0.25,
  /**
   * Bytes that running requests and settlements of one connection may take even if no memory is free, about a
   * connection's weight: for a few small requests.
   */
  workBytesMin: 16 * KB,
  /** Input after the close that is ignored before the socket is destroyed. */
  ignoredBytes: 16 * MB,
  /** Bytes of AMQP-only sections of messages that are encoded in one turn. */
  turnBytes: 128 * KB,
  /** Bytes of `turnBytes` as which each message counts in addition. */
  turnMessageBytes: 512,
  /** Bytes of `turnBytes` as which each application property counts in addition. */
  turnPropertyBytes: 32,
  /** Decoded bytes of a performative that count as much as a frame. */
  decodedBytesPerFrame: 4 * KB,
  /** Deliveries that a disposition covers or settles, and that count as much as a frame. */
  deliveriesPerFrame: 100,
  /** Deliveries that the broker settles at a time; the last call may exceed it. */
  settlementsAtOnce: 2000,
  /** Bytes of a request to `$cbs` or `$management` that count as much as a frame: each may be a value. */
  requestBytesPerFrame: 1 * KB,
  /** A longer request is read in a turn of its own. */
  turnRequestBytes: 4 * KB,
  /** Bytes of shorter messages and requests that are read in one turn, of all authorized connections. */
  turnReadBytes: 64 * KB,
  /** Transfer frames that are sent in one turn. */
  turnParts: 1000,
  /** Bytes of transfer frames that are sent in one turn. */
  turnPartBytes: 1 * MB,
  /** Output that the peer has not read yet: with more, nothing is claimed for it and no transfer is sent. */
  backlogBytes: 8 * MB,
  /** Bytes that the running claims of one connection may return. */
  claimBytes: 24 * MB,
  /** The size that a claim expects of one message. */
  claimedMessageBytes: 256 * KB,
  /**
   * A claim that returns a large message: memory for each byte, and the largest fraction of the process's
   * limit.
   */
  largeClaim: { heldPerByte: 4, shareOfProcess: 0.6 },
  /** Tokens of a connection. With more, the token that was put first is dropped. */
  tokens: 2000,
  /**
   * Size of all tokens of a connection, with their addresses and names of rules. With more, the token that was put
   * first is dropped.
   */
  tokenBytes: 1 * MB,
  /** Refused tokens and keys, over AMQP or HTTP; the last of them closes the connection. */
  refusals: 20,
  /** Refusals that are answered at once; further ones are answered after a pause. */
  refusalsAtOnce: 5,
  /** Pause before a refusal beyond `refusalsAtOnce` is answered, ms. */
  refusalPauseMs: 200,
} as const;
