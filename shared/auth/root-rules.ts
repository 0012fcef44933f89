import type { AuthorizationRule } from '../domain/entities/descriptions.ts';
import type { NamespaceKeys } from './namespace-keys.ts';
import type { RootKeySource, RootKeys } from './root-key.ts';

/** The rule that every namespace has (semantics K5). */
const ROOT_KEY_NAME = 'RootManageSharedAccessKey';

/** The authorization rules of a namespace: one, with a root key, or with the two keys of a source. */
export function rootKeys(rootKey: string | RootKeySource): NamespaceKeys {
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
