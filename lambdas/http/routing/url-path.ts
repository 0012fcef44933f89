const SHELL_HINT =
  "A shell takes the '$' of '$deadletterqueue' or '$purge' for a variable, unless the URL is in single quotes or the '$' is written '\\$'.";
/** Characters of a path that an error shows. */
const SHOWN_LENGTH = 300;
/** The entity's path, in front of the segments of the API. */
const ENTITY = /^.*?(?=\/(?:messages|sessions)(?:\/|$)|$)/i;
const EMPTY_SEGMENT = /(?:\/|%2f)(?:\/|%2f)/i;
/** A missing id. Elsewhere empty segments are allowed, since message ids may contain slashes. */
const EMPTY_NAME = /^\/(?:messages|sessions)\/\//i;
const FINAL_SLASH = /\/$/;
const ENCODED_SLASH_AT_END = /%2f$/i;
const SUB_QUEUE_WITHOUT_DOLLAR = /(?<=[^/])\/(transfer\/)?deadletterqueue(?=\/|$)/i;

/**
 * The error text for a path with an empty segment or a final slash; undefined for a valid path. Such paths
 * are refused rather than repaired, because a shell turns `/q/$deadletterqueue/messages` into `/q//messages`,
 * which would address the queue itself. Only GET may end with a slash, as the vendor's clients write the
 * paths of lists.
 */
export function pathFault(method: string, pathname: string): string | undefined {
  const shown = pathname.slice(0, SHOWN_LENGTH);
  const [entity = ''] = ENTITY.exec(pathname) ?? [];
  const rest = pathname.slice(entity.length);
  // The path of an entity may end with a slash if it is read.
  const isEmpty = EMPTY_SEGMENT.test(rest === '' ? entity : `${entity}/`) || EMPTY_NAME.test(rest);
  if (isEmpty) return `The path '${shown}' has an empty segment. ${SHELL_HINT}`;
  const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(method);
  const endsSo = FINAL_SLASH.test(pathname) || (rest === '' && ENCODED_SLASH_AT_END.test(entity));
  if (isRead || pathname === '/' || !endsSo) return undefined;
  return `The path '${shown}' ends with a slash, which only GET allows. ${SHELL_HINT}`;
}

/** A hint for a path with a sub-queue whose `$` is missing; undefined for other paths. */
export function subQueueHint(pathname: string): string | undefined {
  const [found, transfer] = SUB_QUEUE_WITHOUT_DOLLAR.exec(pathname) ?? [];
  if (found === undefined) return undefined;
  const right = transfer === undefined ? '/$deadletterqueue' : '/$transfer/$deadletterqueue';
  const path = pathname.slice(0, SHOWN_LENGTH).replace(SUB_QUEUE_WITHOUT_DOLLAR, () => right);
  return `The path of the sub-queue is '${path}'. ${SHELL_HINT}`;
}
