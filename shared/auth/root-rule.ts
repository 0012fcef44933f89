/** The name of the rule with all rights, which every namespace has (semantics K5). */
export const ROOT_KEY_NAME = 'RootManageSharedAccessKey';

/** The key of the vendor's emulator (semantics K5). It is public: the samples of the client libraries hold it. */
export const PUBLIC_ROOT_KEY = 'SAS_KEY_VALUE';
