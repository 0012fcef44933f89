/**
 * How callers are authorized: by our own shared access signatures, or by IAM in front of the functions. This
 * file must stay free of other imports, since the CDK app reads it.
 */
export const ACCESS_KINDS = ['sas', 'iam'] as const;
/** How callers are authorized. */
export type AccessKind = (typeof ACCESS_KINDS)[number];
