/** What deployment and the process must agree on; data only, CDK reads it. */

/** The names of the settings that it has besides those of the functions. */
export const GATEWAY_VARIABLES = {
  port: 'PORT',
  /** How long it goes on serving after it was told to stop, so that nobody is sent to it any more. */
  drainNoticeMs: 'DRAIN_NOTICE_MS',
  /** Limits; what is not set is as shared/domain/budgets/budgets.ts says. A rate is written `100/2000`: a second, and at once. */
  openConnections: 'OPEN_CONNECTIONS_PER_ADDRESS',
  newConnections: 'NEW_CONNECTIONS_PER_ADDRESS',
  requestsOfAddress: 'REQUESTS_PER_ADDRESS',
  operationsOfRule: 'OPERATIONS_PER_RULE',
  requests: 'REQUESTS',
  /** `true` where each connection, request and link is to stand in the log. */
  accessLog: 'ACCESS_LOG',
} as const;

/** Two health checks that failed, ten seconds apart, and what it takes until all of them know. */
export const DRAIN_NOTICE_MS = 25_000;
/** Within this time after the notice all clients are told, and the process ends. */
export const STOP_MS_MAX = 20_000;

/** The number of connected clients, as every process writes it to its log each minute. */
export const CONNECTIONS_METRIC = {
  namespace: 'dynabus',
  name: 'AmqpConnections',
  /** Its value is the name of the namespace that is served. */
  dimension: 'Broker',
  periodMs: 60_000,
} as const;
