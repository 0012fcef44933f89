import { type Grant, type IGrantable, Role } from 'aws-cdk-lib/aws-iam';
import { Dependable } from 'constructs';
import { SettingsError } from './setting-faults.ts';

/**
 * A grant that gives something. `at` = the path of what it is about. Throws SettingsError for one that had no effect:
 * to a principal without policies, or to a role that CDK leaves as it is, such as one of another account.
 */
export function effectiveGrant(at: string, grantee: IGrantable, grant: Grant): Grant {
  const isAdded = grant.success && (hasPolicy(grant) || Role.isRole(grantee.grantPrincipal));
  if (isAdded) return grant;
  throw new SettingsError([
    `${at}: The grantee has no role whose policies this app can change, so the grant would give nothing: grant to a role of this app.`,
  ]);
}

/** CDK calls a grant to an imported role that it must not change a success, but then it waits for no policy. */
function hasPolicy(grant: Grant): boolean {
  return Dependable.of(grant).dependencyRoots.length > 0;
}
