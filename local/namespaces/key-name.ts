import { parseSasToken, type SasToken, tokenRefusal } from '../../shared/auth/sas-token-text.ts';

/** The namespace of rules whose names lead to no other. */
export const DEFAULT_NAMESPACE = 'dynabus';

/** Where the name of a rule leads. */
export interface NamedRule {
  readonly rule: string;
  /** The name of a namespace, in lower case; undefined = the default namespace. */
  readonly namespace: string | undefined;
}

const SEPARATOR = '@';
const NAME_LENGTH_MAX = 63;
const NAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9-]{0,${NAME_LENGTH_MAX - 1}}$`);
/** How much of a wrong name a sentence repeats. */
const REPEATED_LENGTH = 80;

/** What a name of a namespace is like, for sentences. */
const FORM = `1 to ${NAME_LENGTH_MAX} letters, digits and hyphens that begin with a letter or digit`;

/**
 * Splits the name of a rule at its last `@`: `RootManageSharedAccessKey@test-1` is a rule of the namespace `test-1`.
 * Throws Unauthenticated for a name that no namespace can have, and for a missing rule.
 */
export function parseKeyName(keyName: string): NamedRule {
  const at = keyName.lastIndexOf(SEPARATOR);
  if (at < 0) return { rule: keyName, namespace: undefined };
  const rule = keyName.slice(0, at);
  const namespace = namespaceName(keyName.slice(at + 1));
  if (rule !== '' && namespace !== undefined) return { rule, namespace };
  throw tokenRefusal(
    '40105',
    `MalformedToken: '${keyName.slice(0, REPEATED_LENGTH)}' names no rule of a namespace: write rule@namespace, with a namespace of ${FORM}.`,
  );
}

/** The name of a namespace in lower case; undefined if none can have it. */
export function namespaceName(text: string): string | undefined {
  // Tested as written: the lower case of some characters, such as the Kelvin sign, is a letter of ASCII.
  return NAME.test(text) ? text.toLowerCase() : undefined;
}

/** The sentence for a name that no namespace can have. */
export function notANamespaceName(text: string): string {
  return `'${text.slice(0, REPEATED_LENGTH)}' is not the name of a namespace, which has ${FORM}.`;
}

/**
 * Returns the parser of tokens of one namespace. It reads `rule@namespace` as the rule, which the signature of a token
 * does not cover, and refuses the tokens of all other namespaces: throws Unauthenticated.
 */
export function tokenParserOf(own: string): (text: string) => SasToken {
  return (text) => {
    const token = parseSasToken(text);
    const { rule, namespace = DEFAULT_NAMESPACE } = parseKeyName(token.keyName);
    if (namespace !== own) {
      throw tokenRefusal(
        '40103',
        `InvalidSignature: The token is for the namespace '${namespace}', but the request is for '${own}': send a token of '${own}'.`,
      );
    }
    return { ...token, keyName: rule };
  };
}
