import type { AuthorizationRule } from '../domain/entities/descriptions.ts';
import type { RootKeySource, RootKeys } from './root-key.ts';
import { ROOT_KEY_NAME } from './root-rule.ts';

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

/** The keys of the namespace's only rule: one fixed root key, or those of a source. */
export function rootRulesOf(rootKey: string | RootKeySource): NamespaceKeys {
  if (typeof rootKey === 'string') {
    const rules = rootRules({ primary: rootKey, secondary: rootKey });
    return { rules: async () => rules };
  }
  return {
    rules: async () => rootRules(await rootKey.current()),
    changedFrom: async ([tried]) => {
      if (tried === undefined) return undefined;
      const { primaryKey: primary, secondaryKey: secondary } = tried;
      const changed = await rootKey.changedFrom({ primary, secondary });
      return changed && rootRules(changed);
    },
  };
}

function rootRules({ primary, secondary }: RootKeys): readonly AuthorizationRule[] {
  return [
    {
      keyName: ROOT_KEY_NAME,
      primaryKey: primary,
      secondaryKey: secondary,
      rights: ['Manage', 'Send', 'Listen'],
      createdAt: 0,
      modifiedAt: 0,
    },
  ];
}
