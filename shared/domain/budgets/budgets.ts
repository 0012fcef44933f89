import { KB, MB, MINUTE_MS, SECOND_MS } from '../units.ts';
import { CONNECTION_BUDGETS } from './connection-budgets.ts';

/**
 * What a peer may have a process hold and do, before it has proved a right and after: every bound of
 * memory, work and time that is kept against hostile input. docs/security.md shows the table. Limits
 * of Service Bus that honest clients meet are in `limits.ts`, those of filters in
 * `shared/filters/filter-limits.ts`. Sizes in bytes unless the name says otherwise.
 */
export const BUDGETS = {
  connection: CONNECTION_BUDGETS,
  /** One WebSocket that carries AMQP. What came in of a message counts as held by its connection. */
  webSocket: {
    /** One message: the vendor's client for .NET puts several frames of 64 KB into one. */
    messageBytes: 1 * MB,
    /** Parts of one message; the vendor's clients send it whole. */
    fragments: 64,
    /** Pieces in which one part comes in. */
    chunks: 2048,
    /** What may come in before a message ends: a peer may put pongs between its parts. */
    unfinishedBytes: 2 * MB,
    /** What is taken apart of what came in before it is looked whether others have their turn. */
    turnBytes: 16 * KB,
  },
  /** What things are counted as, beside their bytes. */
  weights: {
    connectionBytes: 16 * KB,
    sessionBytes: 2 * KB,
    linkBytes: 2 * KB,
    /** A message that came in, or went out and is not settled. */
    deliveryBytes: 384,
    /** A message that is being settled, or whose lock is being renewed, with its part of requests under way. */
    settlementBytes: 2 * KB,
    /** One decoded AMQP value. */
    valueBytes: 64,
    /** The same in a request, whose peer chooses what it is: bytes take the most. */
    requestValueBytes: 144,
    /** A header field of a request over HTTP that is not answered. */
    headerFieldBytes: 200,
    /** A message of a batch over HTTP, or any over AMQP, from when it is parsed until it is stored. */
    sentMessageBytes: 1 * KB,
    /** A copy that a send to a topic makes for a subscription, with what is made of it until it is stored. */
    copyBytes: 300,
  },
  /** One message over AMQP, or all of one batch together. */
  delivery: {
    /** Values that are decoded, each of which takes 40 to 100 bytes: at most 60 ms and 26 MB. */
    values: 250_000,
    /** What is longer has a turn of its own to be read, and so has a group of deliveries that is to be stored. */
    turnBytes: 16 * KB,
    /** As how many bytes each of a batch counts there: a message in it may have five. */
    batchBytesPerByte: 4,
    /** Memory for each byte while it is read and stored, beside that in which it came. */
    heldPerByte: 2,
    /** What a delivery may be longer than what counts of its messages: the encoding takes some bytes too. */
    encodingBytes: 64 * KB,
    /** The same for each message of a schedule. */
    encodingMessageBytes: 512,
    /** Of what the process may hold: what this is for one connection; a delivery alone may take more. */
    copiesShareOfProcess: 0.25,
    /** The JSON in which a body that is not one data section is shown to others: so much in any case, */
    shownBytes: 8 * MB,
    /** and so much for each byte of the body. */
    shownPerByte: 2,
    /** Memory for each byte of that JSON, with its text. */
    heldPerShownByte: 2,
  },
  /** One AMQP value. */
  value: {
    /** Values within values. */
    depth: 32,
    /** Elements of an array that take no bytes: their count alone would cost memory. */
    emptyElements: 1024,
  },
  /** One request over HTTP. Whoever makes it has proved a right to it, unless it says otherwise. */
  request: {
    /** Fields of a head whose wish for another protocol is ignored; node:http reads no more of any. */
    headerFields: 1000,
    /**
     * The path: characters, and segments. The longest honest one, of a message of a subscription, has 2,200
     * where every name is percent-encoded, and 137.
     */
    pathLength: 4 * KB,
    pathSegments: 160,
    /** Characters of the field `Accept`; a longer one is not read, as if it were not there. */
    acceptLength: 1 * KB,
    /** What is parsed at once of heads, and of bodies whose length they do not tell. */
    turnPieceBytes: 4 * KB,
    /** A body up to here is counted as announced, a larger one as it comes in. */
    wholeBytes: 64 * KB,
    /** JSON or XML, or any other body, that is longer has a turn of its own to be read. */
    turnTextBytes: 4 * KB,
    turnBytes: 64 * KB,
    /** More messages than these have another turn to be sent. */
    turnMessages: 100,
    /** What is taken in of a body ahead of its reader, and as how much small chunks are handed on. */
    aheadBytes: 4 * KB,
    /**
     * A transaction, as much as the largest request that a function is given; one whose token proves no
     * right may have `connection.beforeRight.requestBytes`.
     */
    transactionBytes: 6 * MB,
    /** JSON that names messages, or settles them: 1,000 with the longest reasons and descriptions. */
    namesBytes: 1 * MB,
    settlementsBytes: 14 * MB,
    /** A batch in JSON, whatever its entity takes. */
    batchBytes: 8 * MB,
    /** JSON for each byte of messages in a batch: every character may be written as an escape. */
    batchBytesPerByte: 6,
    /** The names of fields, and properties that do not count as bytes of a message. */
    batchExtraBytes: 2 * MB,
    /** What any JSON may hold. */
    jsonValues: 200_000,
    jsonDepth: 64,
    /** Fields of one object. */
    jsonFields: 1000,
    /** Memory for each byte of a body, with the copies that are made of it. */
    heldPerByte: 2,
    heldPerJsonByte: 5,
    /** The same for each byte of a message beyond so many, of which copies are made until it is stored. */
    largeBytes: 1 * MB,
    heldPerLargeByte: 7,
    /** Memory for each byte of messages that are read together, up to so many: what one receive takes of several. */
    readBytes: 3 * MB,
    heldPerSmallReadByte: 2,
    /** The same for what is more: of a single message in an answer, and of messages printed as JSON. */
    heldPerReadByte: 7,
    heldPerPrintedByte: 12,
    heldPerXmlByte: 20,
    /** JSON of messages that are received together, where nothing else bounds it; one alone may be longer. */
    printedBytes: 8 * MB,
    /** Deferred messages that are received together by their numbers; one alone may be larger. */
    deferredBytes: 32 * MB,
    /** Copies that one send to a topic makes for all subscriptions; `weights.copyBytes` each until it is stored. */
    copies: 200_000,
    /** Of what the process may hold: what the copies of one send may take. */
    copiesShareOfMemory: 0.5,
  },
  stored: {
    /** What a publication to many subscriptions writes down before it begins, before it is compressed. */
    intentBytes: 16 * MB,
    /** What compressed bytes of the database may come to: the largest message, kept for AMQP and as JSON. */
    decompressedBytes: 256 * MB,
  },
  tokens: {
    /** Characters of one token. */
    bytes: 8 * KB,
    /** What a process remembers of tokens whose signature it has checked, bytes. */
    provenBytes: 4 * MB,
    /** Entities that are known to be missing, for tokens that no rule of the namespace has signed. */
    missing: 1000,
    missKeptMs: 2000,
  },
  process: {
    /** Of the limit of the heap: what all peers together may hold that have proved a right. */
    heldShareOfHeap: 0.5,
    /** Of that, beside it: what all others together may hold. */
    heldShareBeforeRight: 0.125,
    /** The same for whatever may be ended, beside work under way. */
    heldShareBesidePinned: 0.125,
    /** Connections over AMQP that have proved no right; with more, the oldest is closed. */
    connectionsBeforeRight: 1000,
    /** Connections over HTTP, or that have not shown what they speak, that have proved none; the same. */
    otherConnectionsBeforeRight: 2000,
    /** Connections over AMQP that were closed to make room and whose peers have not answered yet. */
    connectionsCrowdedOut: 100,
    /** Requests over HTTP at the gateway of a deployment; as many as its API Gateway lets through. */
    requests: { perSecond: 2000, burst: 1000 },
    /** Lines of the gateway's access log; those beyond are left out, and counted. */
    accessLines: { perSecond: 500, burst: 5000 },
  },
  /** One client address at the gateway of a deployment, in each of its processes. */
  address: {
    /** The PROXY header in which the load balancer says who the client is. */
    proxyHeaderBytes: 536,
    /** Connections that are open at once. */
    openConnections: 2000,
    /** Connections that begin. All clients behind one address may have to connect again at once. */
    newConnections: { perSecond: 100, burst: 2000 },
    /** Requests over HTTP. */
    requests: { perSecond: 1000, burst: 2000 },
    /** As so many requests counts one that proved no right. */
    refusedAsRequests: 10,
  },
  /** One rule of shared access signatures at the gateway of a deployment, in each of its processes. */
  rule: {
    /** Requests, links, and groups of messages that are sent or received: whatever a right is checked for. */
    operations: { perSecond: 1000, burst: 2000 },
  },
  /** Addresses, and rules, of which a process knows how much they did lately. */
  rateBuckets: 10_000,
  /** The root keys that a deployment reads from its secret. */
  rootKey: {
    /** A key that was changed is known everywhere after this long, and the one before the last is refused. */
    readAgainMs: 5 * MINUTE_MS,
    /** So long after it was last read a key is used while it cannot be read again. */
    keptMs: 60 * MINUTE_MS,
    /** Time between two attempts once it is used no more: strangers decide how many requests come. */
    retryMs: 10 * SECOND_MS,
    /** Reads in each process for tokens that neither key has signed: anybody can make such a token. */
    changes: { perSecond: 0.1, burst: 3 },
  },
  filter: {
    /** One LIKE whose pattern is computed: characters of the text, by 31 characters of the pattern. */
    likeSteps: 256 * KB,
  },
  /** Work for one request goes on this long, ms, before the work of others has its turn. */
  turnMs: 1,
  /** What takes longer is made up for by the turns that follow; it counts as so many of them, at most. */
  turnsOwed: 20,
  /** What each of those turns makes up for, of the time that others take of it, where that is more. */
  turnShare: 1 / 10,
  /** Requests to the database that operations on many messages begin in one turn, and that each has under way. */
  turnRequests: 32,
  /** Scans of one log at a time, by how much they are to find: each reads what others are about to claim. */
  scansOfLog: { small: 8, large: 1 },
  /** Connections whose first bytes are looked at in one turn, of all together; those of TLS begin the handshake. */
  turnFirstBytes: 20,
  /** Pieces of what comes over HTTP that are parsed in one turn, of all connections that have proved a right. */
  turnPieces: 100,
  /** How long they are parsed in one turn, ms; a piece that has begun is parsed whole. */
  turnPiecesMs: 1,
  /** The same of all that have proved none. */
  turnPiecesBeforeRight: 10,
  turnPiecesBeforeRightMs: 1,
  /** Receives and looks for sessions that end in one turn because their links have ended. */
  turnEnds: 50,
  /** Calls that give messages of such links back and begin in one turn. */
  turnReturns: 4,
  /** One description of an entity or rule as XML. Its work is linear in these. */
  xml: {
    /** Far above any description: the largest hold twelve keys, or values up to 64 KB. */
    bytes: 128 * KB,
    /** The deepest description is nine deep. */
    depth: 32,
    /** More than parameters of a filter make where they fill all the bytes. */
    elements: 5000,
    /** Declarations of namespaces included. */
    attributes: 10_000,
    /** Of namespaces, in force at one element. The vendor's clients have six. */
    declarations: 32,
  },
  /** What only the local server has. */
  localServer: {
    /** A request that moves the clock; it needs no right. */
    clockRequestBytes: 1 * KB,
    /** So often is looked whether the npm that has started it still runs. */
    launcherLookMs: 250,
    /** So long after a signal npm may pass on the same one. */
    repeatedSignalMs: 500,
  },
} as const;
