/**
 * The names of the environment variables with the settings of a function. Data only, because CDK reads it.
 */
export const VARIABLES = {
  entitiesTable: 'ENTITIES_TABLE',
  messagesTable: 'MESSAGES_TABLE',
  namespace: 'NAMESPACE',
  /** One of `TIERS`; default: Standard. */
  tier: 'TIER',
  /** `iam` where IAM authorizes callers; not set where tokens do. */
  access: 'ACCESS',
  /** `functionUrl` where a function URL calls the function; not set where API Gateway does. */
  endpoint: 'ENDPOINT',
  /** The ARN of the secret with the root key; the environment never has the key. Not set with access=iam. */
  rootKeySecret: 'ROOT_KEY_SECRET',
  receiveWaitMsMax: 'RECEIVE_WAIT_MS_MAX',
  /** The name of the function that pushes messages to targets; not set in a stage without consumers. */
  pushFunction: 'PUSH_FUNCTION',
  /** The ARNs of functions that any consumer may have as its target, with spaces between; not set = none. */
  pushTargets: 'PUSH_TARGETS',
  /** The start of the names of the parameters that keep connection strings of declared rules. */
  parameterPrefix: 'PARAMETER_PREFIX',
} as const;

/** The tiers that a namespace may have, the default first (semantics N15). */
export const TIERS = ['Standard', 'Basic', 'Premium'] as const;

/** What may receive the requests of a deployment, the default first. */
export const ENDPOINTS = ['apiGateway', 'functionUrl'] as const;
