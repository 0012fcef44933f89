/** Names and times that the deployment and the process share; data only, because CDK imports it. */

/** Environment variables of the gateway, in addition to those of the functions. */
export const GATEWAY_VARIABLES = {
  port: 'PORT',
  /** How long the task serves on after it was told to stop, until the load balancer sends no more clients. */
  drainNoticeMs: 'DRAIN_NOTICE_MS',
  /**
   * Limits, with defaults in shared/domain/budgets/budgets.ts. A rate is written `100/2000`: per second, and at once.
   */
  openConnections: 'OPEN_CONNECTIONS_PER_ADDRESS',
  newConnections: 'NEW_CONNECTIONS_PER_ADDRESS',
  requestsOfAddress: 'REQUESTS_PER_ADDRESS',
  operationsOfRule: 'OPERATIONS_PER_RULE',
  requests: 'REQUESTS',
  /** `true` = the stream of the messages table wakes waiting receivers. */
  streamWakeUps: 'STREAM_WAKE_UPS',
  /** `true` = each connection, request and link is logged. */
  accessLog: 'ACCESS_LOG',
} as const;

/** Two failed health checks, ten seconds apart, and some time for all nodes of the load balancer. */
export const DRAIN_NOTICE_MS = 25_000;
/** Within this time after the notice all clients are disconnected and the process ends. */
export const STOP_MS_MAX = 20_000;

/** The metric with the number of connected clients, which every process logs each minute. */
export const CONNECTIONS_METRIC = {
  namespace: 'dynabus',
  name: 'AmqpConnections',
  /** The dimension, whose value is the name of the namespace. */
  dimension: 'Namespace',
  periodMs: 60_000,
} as const;
