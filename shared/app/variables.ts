/** The names under which deployment hands the functions their settings; data only, CDK reads it. */
export const VARIABLES = {
  entitiesTable: 'ENTITIES_TABLE',
  messagesTable: 'MESSAGES_TABLE',
  namespace: 'NAMESPACE',
  /** One of the tiers below; Standard if not set. */
  tier: 'TIER',
  /** `iam` where IAM decides who may call what; not set where tokens do. */
  access: 'ACCESS',
  /** ARN of the secret; the key itself never stands in the environment. Not set under IAM. */
  rootKeySecret: 'ROOT_KEY_SECRET',
  receiveWaitMsMax: 'RECEIVE_WAIT_MS_MAX',
} as const;

/** The tiers that a namespace may have, the usual one first (semantics N15). */
export const TIERS = ['Standard', 'Basic', 'Premium'] as const;
