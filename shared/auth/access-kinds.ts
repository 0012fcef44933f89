/** Who says what a caller may do: our own tokens, or IAM in front of us; data only, CDK reads it. */
export const ACCESS_KINDS = ['sas', 'iam'] as const;
export type AccessKind = (typeof ACCESS_KINDS)[number];
