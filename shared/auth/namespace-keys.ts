import type { AuthorizationRule } from '../domain/entities/descriptions.ts';

/** The shared access policies that hold for the whole namespace. */
export interface NamespaceKeys {
  /** The policies as this process knows them. */
  rules(): Promise<readonly AuthorizationRule[]>;
  /**
   * Policies that differ from `tried`, for a token that names one of those and that none of their keys has
   * signed: a key may have been changed. Undefined where there are none, or where it is too early to look
   * again; absent where keys never change.
   */
  changedFrom?(
    tried: readonly AuthorizationRule[],
  ): Promise<readonly AuthorizationRule[] | undefined>;
}
