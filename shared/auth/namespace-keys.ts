import type { AuthorizationRule } from '../domain/entities/descriptions.ts';

/** The shared access rules of the whole namespace. */
export interface NamespaceKeys {
  /** The rules as this process knows them. */
  rules(): Promise<readonly AuthorizationRule[]>;
  /**
   * Looks for rules that differ from `tried`. It is called for a token that names one of those rules but is
   * signed with none of their keys, since a key may have changed. Returns undefined if nothing has changed,
   * or if it is too early to read the keys again. The method is absent if keys never change.
   */
  changedFrom?(
    tried: readonly AuthorizationRule[],
  ): Promise<readonly AuthorizationRule[] | undefined>;
}
